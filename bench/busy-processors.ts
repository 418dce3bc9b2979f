import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** Keeps all processors busy with other processes until the returned object is disposed of. */
export function keepProcessorsBusy(): Disposable {
  const processes = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }),
  )
  return {
    [Symbol.dispose]() {
      for (const each of processes) each.kill('SIGKILL')
    },
  }
}
