import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

/** They end with this process, also if it is killed. */
const program = `while (process.ppid === ${process.pid});`

/** Keeps all processors busy with other processes until the returned object is disposed of. */
export function keepProcessorsBusy(): Disposable {
  const processes = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['--eval', program], { stdio: 'ignore' }),
  )
  return {
    [Symbol.dispose]() {
      for (const each of processes) each.kill('SIGKILL')
    },
  }
}
