import { sql, type Kysely } from 'kysely'
import { Gauge, type Logger, type Registry } from '@sluice/process'
import type { DB } from './database.ts'
import { maintenanceJobs, type MaintenanceJob } from './housekeeping/maintenance-jobs.ts'

const hour = 3_600_000
/** Any number that no other advisory lock of this service uses. */
const lock = 7_314_512

interface MaintenanceOptions {
  db: Kysely<DB>
  logger: Logger
  metrics: Registry
  jobs: readonly MaintenanceJob[]
  /** Milliseconds from the end of one round to the next. */
  every?: number
}

interface MaintenanceReport {
  done?(duty: string): void
  failed(duty: string, error: unknown): void
}

/**
 * Runs the jobs now and every hour, in one process at a time. A failed job does not stop the others and runs again in the
 * next round. `identity_housekeeping_last_success_seconds` has the time of the last success of each job.
 */
export function startMaintenance({ db, logger, metrics, jobs, every = hour }: MaintenanceOptions): {
  stop(): Promise<void>
} {
  const successes = lastSuccesses(metrics)
  const stopping = new AbortController()
  const { signal } = stopping
  let timer: NodeJS.Timeout | undefined
  let work: Promise<void>

  const report: MaintenanceReport = {
    done: (task) => successes.set({ task }, Date.now() / 1000),
    failed: (task, err) => logger.warn({ err, task }, 'a part of housekeeping failed; it is tried again in an hour'),
  }
  const run = () => {
    work = runExclusively(db, () => runJobs(db, jobs, report, signal))
      .catch((err: unknown) => logger.warn({ err }, 'housekeeping was left out; it is tried again in an hour'))
      .then(() => {
        if (!signal.aborted) timer = setTimeout(run, every).unref()
      })
  }
  run()
  return {
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await work
    },
  }
}

/** Runs the jobs that need no key ring once. Runs all of them and then throws the errors of failed jobs. */
export async function runMaintenanceOnce(db: Kysely<DB>): Promise<void> {
  const failures: unknown[] = []
  await runExclusively(db, () =>
    runJobs(db, maintenanceJobs(), { failed: (_duty, error) => void failures.push(error) }),
  )
  if (failures.length > 0) throw new AggregateError(failures, 'Parts of housekeeping failed.')
}

async function runJobs(
  db: Kysely<DB>,
  duties: readonly MaintenanceJob[],
  report: MaintenanceReport,
  signal?: AbortSignal,
): Promise<void> {
  for (const { name, run } of duties) {
    if (signal?.aborted) return
    try {
      await run(db, signal)
      if (!signal?.aborted) report.done?.(name)
    } catch (error) {
      report.failed(name, error)
    }
  }
}

/** Runs `work` unless another process runs it. The lock ends with its connection, so a killed process releases it. */
async function runExclusively(db: Kysely<DB>, work: () => Promise<void>): Promise<void> {
  await db.connection().execute(async (connection) => {
    const { rows } = await sql<{ ours: boolean }>`select pg_try_advisory_lock(${lock}) as ours`.execute(connection)
    if (!rows[0]?.ours) return
    try {
      await work()
    } finally {
      await sql`select pg_advisory_unlock(${lock})`.execute(connection)
    }
  })
}

const lastSuccesses = (registry: Registry) =>
  new Gauge({
    name: 'identity_housekeeping_last_success_seconds',
    help: 'When this process last did a part of housekeeping to its end, in seconds since 1970.',
    labelNames: ['task'],
    registers: [registry],
  })
