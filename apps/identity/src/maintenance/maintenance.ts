import { sql, type Kysely } from 'kysely'
import { Gauge, startPollingLoop, type Logger, type Registry } from '@sluice/process'
import type { DB } from '../database.ts'
import { listJobs, type MaintenanceJob } from './maintenance-jobs.ts'

const msPerHour = 3_600_000
/** Any number that no other advisory lock of this service uses. */
const maintenanceLockId = 7_314_512

interface MaintenanceOptions {
  db: Kysely<DB>
  logger: Logger
  metrics: Registry
  jobs: readonly MaintenanceJob[]
  /** Milliseconds from the end of one round to the next. */
  intervalMs?: number
}

interface MaintenanceReport {
  succeeded?(job: string): void
  failed(job: string, error: unknown): void
}

/**
 * Runs the jobs now and every hour, in one process at a time. A failed job does not stop the others and runs again in
 * the next round. The metric `identity_housekeeping_last_success_seconds` shows when each job last succeeded.
 */
export function startMaintenance({ db, logger, metrics, jobs, intervalMs = msPerHour }: MaintenanceOptions): {
  stop(): Promise<void>
} {
  const successes = new Gauge({
    name: 'identity_housekeeping_last_success_seconds',
    help: 'The time when this process last completed a maintenance job, in seconds since 1970.',
    labelNames: ['task'],
    registers: [metrics],
  })
  const report: MaintenanceReport = {
    succeeded: (task) => successes.set({ task }, Date.now() / 1000),
    failed: (task, err) => logger.warn({ err, task }, 'a maintenance job failed; it runs again in an hour'),
  }
  return startPollingLoop(
    async (signal) => {
      await runUnlessAnotherProcessDoes(db, () => runJobs(db, jobs, report, signal))
      // Nothing is left to do until the next interval.
      return false
    },
    {
      pauseMs: intervalMs,
      stopTimeoutMs: 0,
      failed: (err) => logger.warn({ err }, 'maintenance could not start; it runs again in an hour'),
    },
  )
}

/** Runs the jobs that need no encryption keys once. A failed job does not stop the others; then throws their errors. */
export async function runMaintenanceOnce(db: Kysely<DB>): Promise<void> {
  const failures: unknown[] = []
  await runUnlessAnotherProcessDoes(db, () =>
    runJobs(db, listJobs(), { failed: (_job, error) => void failures.push(error) }),
  )
  if (failures.length > 0) throw new AggregateError(failures, 'Maintenance jobs failed.')
}

/** Runs the jobs one after the other until the signal aborts. Reports the success or failure of each job. */
async function runJobs(
  db: Kysely<DB>,
  jobs: readonly MaintenanceJob[],
  report: MaintenanceReport,
  signal?: AbortSignal,
): Promise<void> {
  for (const { name, run } of jobs) {
    if (signal?.aborted) return
    try {
      await run(db, signal)
      if (!signal?.aborted) report.succeeded?.(name)
    } catch (error) {
      report.failed(name, error)
    }
  }
}

/**
 * Runs `callback` unless another process holds the maintenance lock. PostgreSQL releases the lock when the connection
 * closes, also if the process is killed.
 */
async function runUnlessAnotherProcessDoes(db: Kysely<DB>, callback: () => Promise<void>): Promise<void> {
  await db.connection().execute(async (connection) => {
    const { rows } = await sql<{
      locked: boolean
    }>`select pg_try_advisory_lock(${maintenanceLockId}) as locked`.execute(connection)
    if (!rows[0]?.locked) return
    try {
      await callback()
    } finally {
      await sql`select pg_advisory_unlock(${maintenanceLockId})`.execute(connection)
    }
  })
}
