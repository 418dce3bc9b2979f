import { type Kysely, sql } from 'kysely'
import type { Logger } from '@sluice/process'
import type { DB } from '../../database.ts'
import type { WorkerMetrics } from '../metrics.ts'

/** A job that maintenance runs regularly. It can be repeated and aborted safely. */
export interface MaintenanceJob {
  name: string
  /** Returns the number of deleted or repaired items. */
  run(signal: AbortSignal): Promise<number>
}

export interface Maintenance {
  stop(): Promise<void>
}

interface MaintenanceOptions {
  db: Kysely<DB>
  jobs: readonly MaintenanceJob[]
  logger: Logger
  metrics: WorkerMetrics
  /** Milliseconds between two rounds, varied at random by 20 %. */
  intervalMs?: number
  /** The key of the advisory lock that a process holds while it runs these jobs. */
  lockKey?: number
}

/** The minimum time in milliseconds between two log lines about the same failing job. */
const logInterval = 60_000

/** Keys of advisory locks. Nothing else in this database uses these numbers. */
const maintenanceLock = 7_314_502
export const readersLock = 7_314_503
export const readerSessionsLock = 7_314_504

/** Runs the jobs once a minute, in one worker at a time. A failed job runs again in the next round. */
export function startMaintenance({
  db,
  jobs,
  logger,
  metrics,
  intervalMs = 60_000,
  lockKey = maintenanceLock,
}: MaintenanceOptions): Maintenance {
  const stopping = new AbortController()
  const { signal } = stopping
  const lastLogTimes = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let currentRound: Promise<void> = Promise.resolve()

  function schedule(delayMs: number): void {
    timer = setTimeout(
      () => {
        currentRound = withMaintenanceLock(db, () => runJobs(), lockKey)
          .catch((error: unknown) => logger.warn({ err: error }, 'a round of maintenance failed'))
          .then(() => {
            if (!signal.aborted) schedule(intervalMs)
          })
      },
      delayMs * (0.8 + Math.random() * 0.4),
    )
  }

  async function runJobs(): Promise<void> {
    for (const { name, run } of jobs) {
      if (signal.aborted) return
      try {
        const itemCount = await run(signal)
        if (itemCount === 0) continue
        metrics.swept.inc({ kind: name }, itemCount)
        logger.info({ task: name, count: itemCount }, 'a maintenance job removed or repaired items')
      } catch (error) {
        const now = performance.now()
        const lastLogMs = lastLogTimes.get(name)
        const wasJustLogged = lastLogMs !== undefined && now - lastLogMs < logInterval
        const isLogThrottled = intervalMs < logInterval && wasJustLogged
        if (signal.aborted || isLogThrottled) continue
        lastLogTimes.set(name, now)
        logger.warn({ err: error, task: name }, 'a maintenance job failed')
      }
    }
  }
  schedule(Math.min(intervalMs, 10_000))

  return {
    async stop() {
      clearTimeout(timer)
      stopping.abort()
      await currentRound
    },
  }
}

/**
 * Runs `callback` if no other process holds the lock. Returns whether it ran. PostgreSQL releases the lock when the
 * connection closes, also if the worker is killed.
 */
export async function withMaintenanceLock(
  db: Kysely<DB>,
  callback: () => Promise<void>,
  lockKey = maintenanceLock,
): Promise<boolean> {
  return db.connection().execute(async (connection) => {
    const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_lock(${lockKey}) as locked`.execute(
      connection,
    )
    if (!rows[0]?.locked) return false
    try {
      await callback()
    } finally {
      await sql`select pg_advisory_unlock(${lockKey})`.execute(connection)
    }
    return true
  })
}
