import { type Kysely, sql } from 'kysely'
import type { Logger } from '@sluice/process'
import type { DB } from '../../../database.ts'
import type { WorkerMetrics } from '../metrics.ts'

/** One thing to clear up. Answers how many it removed or mended. Safe to repeat and to break off. */
export interface Duty {
  name: string
  run(signal: AbortSignal): Promise<number>
}

export interface Janitor {
  stop(): Promise<void>
}

interface Parts {
  db: Kysely<DB>
  duties: readonly Duty[]
  logger: Logger
  metrics: WorkerMetrics
  /** Milliseconds between two rounds, a fifth less or more. */
  every?: number
}

/** Any number that no other advisory lock in this database uses. */
const lock = 7_314_502

/** Does the duties once a minute, in one worker at a time. What fails is tried again in the next round. */
export function startJanitor({ db, duties, logger, metrics, every = 60_000 }: Parts): Janitor {
  const stopping = new AbortController()
  const { signal } = stopping
  let timer: NodeJS.Timeout | undefined
  let round: Promise<void> = Promise.resolve()

  function schedule(wait: number): void {
    timer = setTimeout(
      () => {
        round = alone(db, () => doAll())
          .catch((error: unknown) => logger.warn({ err: error }, 'the janitor had to skip a round'))
          .then(() => {
            if (!signal.aborted) schedule(every)
          })
      },
      wait * (0.8 + Math.random() * 0.4),
    )
  }

  async function doAll(): Promise<void> {
    for (const { name, run } of duties) {
      if (signal.aborted) return
      try {
        const removed = await run(signal)
        if (removed === 0) continue
        metrics.swept.inc({ kind: name }, removed)
        logger.info({ duty: name, count: removed }, 'cleared up')
      } catch (error) {
        if (!signal.aborted) logger.warn({ err: error, duty: name }, 'a duty of the janitor failed')
      }
    }
  }
  schedule(Math.min(every, 10_000))

  return {
    async stop() {
      clearTimeout(timer)
      stopping.abort()
      await round
    },
  }
}

/** Runs `work` unless another process is at it. The lock goes with its connection, so a killed worker lets go of it. */
export async function alone(db: Kysely<DB>, work: () => Promise<void>): Promise<boolean> {
  return db.connection().execute(async (connection) => {
    const { rows } = await sql<{ ours: boolean }>`select pg_try_advisory_lock(${lock}) as ours`.execute(connection)
    if (!rows[0]?.ours) return false
    try {
      await work()
    } finally {
      await sql`select pg_advisory_unlock(${lock})`.execute(connection)
    }
    return true
  })
}
