import { createHash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type StartedProgram, startProgram } from '../../../infra/local/start-program.ts'
import { root } from '../../../infra/paths.ts'
import { freePort } from '../../../infra/postgres/free-port.ts'
import { programs } from '../../bundled-programs.ts'

let port = 18_400

async function startWorker(env: NodeJS.ProcessEnv, folder: string): Promise<StartedProgram> {
  port = await freePort(port + 1)
  const workerPort = port
  const file = programs.file('pipeline', 'run-worker')
  const log = join(folder, `worker-${workerPort}.log`)
  const running = startProgram(
    { file, log, cwd: root, env: { ...env, LOG_LEVEL: 'info', WORKER_PORT: String(workerPort) } },
    true,
  )
  return running
}

async function waitUntilReady({ output, lastErrorLines }: StartedProgram): Promise<void> {
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(20))
    if (output().includes('pipeline worker takes runs')) return
  throw new Error(`A worker did not come up:\n${lastErrorLines()}`)
}

async function kill({ child, ended }: StartedProgram): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

/** Starts workers that run until they are disposed. */
export async function startWorkers(env: NodeJS.ProcessEnv, count: number): Promise<AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-workers-'))
  const workers = await Promise.all(Array.from({ length: count }, () => startWorker(env, folder)))
  await Promise.all(workers.map(waitUntilReady))
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map(kill))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Starts workers, kills each of them at a random time after its start, and replaces it. */
export function startCrashingWorkers(env: NodeJS.ProcessEnv, count: number, seed: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-workers-'))
  const stopped = new AbortController()
  let kills = 0
  const slots = Array.from({ length: count }, async (_, slot) => {
    for (let generation = 0; !stopped.signal.aborted; generation += 1) {
      const worker = await startWorker(env, folder)
      // Up to six seconds, so that some workers are killed in their first polling round and others later.
      await waitUntilReady(worker).then(() => sleep(lifetime(`${seed}/${slot}/${generation}`)))
      await kill(worker)
      kills += 1
    }
  })
  return {
    kills: () => kills,
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await Promise.all(slots)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Returns milliseconds. */
const lifetime = (generation: string) => createHash('sha256').update(generation).digest().readUInt32LE() % 6_000
