import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A worker as production starts it. */
export interface WorkerProcess extends AsyncDisposable {
  process: ChildProcess
  url: string
  /** Everything it has said. */
  output(): string
  signal(name: NodeJS.Signals): void
  /** Its exit code, or the signal that killed it. */
  ended: Promise<number | string>
  [Symbol.asyncDispose](): Promise<void>
}

/** Spawns bin/work.ts and waits until it takes runs. */
export async function spawnWorker(environment: Record<string, string>): Promise<WorkerProcess> {
  const port = await freePort()
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/work.ts')], {
    env: { PATH: process.env['PATH'] ?? '', ...environment, WORKER_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  await until(() => {
    if (child.exitCode !== null) throw new Error(`The worker did not start:\n${output}`)
    return output.includes('pipeline worker takes runs')
  })
  return {
    process: child,
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    signal: (name) => child.kill(name),
    ended,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await ended
    },
  }
}

/** Asks until the answer is truthy. */
export async function until<T>(
  ask: () => T | Promise<T>,
  { within = 30_000, every = 20 } = {},
): Promise<Exclude<T, false | null | undefined>> {
  const end = Date.now() + within
  for (;;) {
    const answer = await ask()
    if (answer) return answer as Exclude<T, false | null | undefined>
    if (Date.now() > end) throw new Error(`Did not come about within ${within} ms: ${ask}`)
    await sleep(every)
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
