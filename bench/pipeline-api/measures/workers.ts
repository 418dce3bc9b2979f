import { createHash } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Running, startProgram } from '../../../infra/local/program.ts'
import { root } from '../../../infra/paths.ts'
import { freePort } from '../../../infra/postgres/free-port.ts'
import { programs } from '../../programs.ts'

let port = 18_400

async function startWorker(env: NodeJS.ProcessEnv, folder: string): Promise<Running> {
  port = await freePort(port + 1)
  const mine = port
  const file = programs.file('pipeline', 'work')
  const log = join(folder, `worker-${mine}.log`)
  const running = startProgram(
    { file, log, cwd: root, env: { ...env, LOG_LEVEL: 'info', WORKER_PORT: String(mine) } },
    true,
  )
  return running
}

async function ready({ output, lastWords }: Running): Promise<void> {
  for (const until = Date.now() + 60_000; Date.now() < until; await sleep(20))
    if (output().includes('pipeline worker takes runs')) return
  throw new Error(`A worker did not come up:\n${lastWords()}`)
}

async function end({ child, ended }: Running): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

/** So many workers that live until they are disposed. */
export async function steadyWorkers(env: NodeJS.ProcessEnv, many: number): Promise<AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-workers-'))
  const workers = await Promise.all(Array.from({ length: many }, () => startWorker(env, folder)))
  await Promise.all(workers.map(ready))
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all(workers.map(end))
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** So many workers that are killed again and again, a moment after they have come up, and replaced. */
export function dyingWorkers(env: NodeJS.ProcessEnv, many: number, seed: string) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-workers-'))
  const over = new AbortController()
  let kills = 0
  const lives = Array.from({ length: many }, async (_, which) => {
    for (let life = 0; !over.signal.aborted; life += 1) {
      const worker = await startWorker(env, folder)
      // The first of its rounds is over after milliseconds, or after seconds.
      await ready(worker).then(() => sleep(lifetime(`${seed}/${which}/${life}`)))
      await end(worker)
      kills += 1
    }
  })
  return {
    kills: () => kills,
    async [Symbol.asyncDispose]() {
      over.abort()
      await Promise.all(lives)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Milliseconds. */
const lifetime = (life: string) => createHash('sha256').update(life).digest().readUInt32LE() % 6_000
