import type { ClientSummary } from '@sluice/contracts'
import { Counter, Histogram, type Logger, type Registry } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'

export interface SchedulerOptions {
  db: Kysely<DB>
  queue: JobQueue
  /** Returns the organisations that exist, by uid. Throws if the identity service is unavailable. */
  clients(uids: readonly string[]): Promise<ReadonlyMap<string, ClientSummary>>
  logger: Logger
  metrics: SchedulerMetrics
  /** Default: the clock of the database, so that all schedulers use the same time. */
  clock?: Clock
  /** Additional jobs of each round, such as workflow steps after a delay. Several workers may run them concurrently. */
  additionalJobs?: readonly { name: string; run(): Promise<unknown> }[]
}

/** The context for the jobs of a round. `signal` aborts when the scheduler stops. */
export type SchedulerContext = SchedulerOptions & { clock: Clock; signal: AbortSignal }

export type Clock = (db: Kysely<DB>) => Promise<Date>

/**
 * Returns the time of the database. With its own clock, a worker with a wrong clock would start runs early, late or
 * twice.
 */
export const databaseClock: Clock = async (db) => {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp()::timestamptz(3) as now`.execute(db)
  return rows[0]!.now
}

type SchedulerMetrics = ReturnType<typeof createSchedulerMetrics>

/** Creates the metrics of the scheduler in the registry. */
export function createSchedulerMetrics(registry: Registry) {
  const registers = [registry]
  return {
    ticks: new Counter({
      name: 'pipeline_schedule_ticks_total',
      help: 'Ticks of schedules by outcome: a run was started, another run covers the tick, or the tick was skipped.',
      labelNames: ['outcome'],
      registers,
    }),
    late: new Histogram({
      name: 'pipeline_schedule_late_seconds',
      help: 'How long after its tick a run was queued.',
      buckets: [0.5, 1, 2, 5, 10, 30, 60, 300, 3600],
      registers,
    }),
    failures: new Counter({
      name: 'pipeline_scheduler_failures_total',
      help: 'Rounds of the scheduler that failed.',
      labelNames: ['task'],
      registers,
    }),
  }
}
