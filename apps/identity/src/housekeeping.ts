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
 * Does what is to be done, now and every hour, in one process at a time. A duty that fails keeps none of the others, and is
 * tried again in the next round; `identity_housekeeping_last_success_seconds` says when each was last done.
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

/** One round, of what needs no key ring. Throws what failed, after the rest was done. */
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

/** Unless another process is at it. The lock goes with its connection, so a killed process lets go of it. */
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
