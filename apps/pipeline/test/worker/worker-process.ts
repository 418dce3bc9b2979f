import { freePort } from '@sluice/testing/free-port'
import { until } from '@sluice/testing/wait-until'
import { startProgram } from '../start-program.ts'

/** A worker as production starts it. */
export interface WorkerProcess extends AsyncDisposable {
  url: string
  /** Everything it has said. */
  output(): string
  signal(name: NodeJS.Signals): void
  /** Waits until SIGSTOP has taken hold of it, or it has ended. */
  stopped(): Promise<void>
  /** Its exit code, or the signal that killed it. */
  ended: Promise<number | string>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts bin/run-worker.ts and waits until it takes runs. */
export async function spawnWorker(environment: Record<string, string>): Promise<WorkerProcess> {
  const port = await freePort()
  const program = startProgram('pipeline/bin/run-worker.ts', { ...environment, WORKER_PORT: String(port) })
  const { output, ended } = program
  let over = false
  void ended.then(() => (over = true))
  await until(() => {
    // First: one that falls into a trap may be over between two looks, and had started.
    if (output().includes('pipeline worker takes runs')) return true
    if (over) throw new Error(`The worker did not start:\n${output()}`)
    return false
  })
  return {
    url: `http://127.0.0.1:${port}`,
    output,
    signal: program.signal,
    stopped: program.stopped,
    ended,
    async [Symbol.asyncDispose]() {
      await program.stop()
    },
  }
}
