import type { ClientSummary } from '@sluice/contracts'
import type { Logger } from '@sluice/process'
import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import { followZones } from './follow-zones.ts'
import type { SchedulerMetrics } from './metrics.ts'
import { planRuns } from './plan-runs.ts'
import { startDue } from './start-due.ts'

export interface SchedulerParts {
  db: Kysely<DB>
  queue: JobQueue
  /** Those of the clients that exist, by uid. Throws while nobody can say. */
  clients(uids: readonly string[]): Promise<ReadonlyMap<string, ClientSummary>>
  logger: Logger
  metrics: SchedulerMetrics
  /** What time it is, for every scheduler alike: the database's clock, where nothing else is said. */
  clock?: Clock
  /** What else is looked at in each round, such as delays that are over. Safe in several workers at once. */
  also?: readonly { name: string; run(): Promise<unknown> }[]
}

export type Clock = (db: Kysely<DB>) => Promise<Date>

/** A worker whose own clock is wrong starts nothing early, late or twice. */
export const databaseClock: Clock = async (db) => {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp()::timestamptz(3) as now`.execute(db)
  return rows[0]!.now
}

export interface Scheduler {
  /** Begins no other round, and answers when the one in hand is over. */
  stop(): Promise<void>
}

/** Milliseconds between two rounds, two looks at the zones of clients, and two lines about the same trouble. */
const pause = 1_000
const zonePause = 20_000
const silence = 60_000

/**
 * Starts what is due, again and again; in every worker, for they share the work row by row. A round that fails, such as while
 * the database is away, is made up for by the next.
 */
export function startScheduler({ clock = databaseClock, ...given }: SchedulerParts): Scheduler {
  const { logger, metrics } = given
  const stopping = new AbortController()
  const parts = { ...given, clock, signal: stopping.signal }
  const duties: { name: string; run(): Promise<unknown>; every?: number; last?: number }[] = [
    { name: 'planning', run: () => planRuns(parts) },
    { name: 'starting', run: () => startDue(parts) },
    // The first look is as soon as anybody's: a client may have moved while no worker ran.
    { name: 'zones', run: () => followZones(parts), every: zonePause },
    ...(given.also ?? []),
  ]
  const told = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let round = Promise.resolve()

  async function doAll(): Promise<void> {
    for (const duty of duties) {
      if (stopping.signal.aborted) return
      const now = performance.now()
      if (duty.every !== undefined && duty.last !== undefined && now - duty.last < duty.every) continue
      duty.last = now
      try {
        await duty.run()
        told.delete(duty.name)
      } catch (error) {
        if (stopping.signal.aborted) return
        metrics.failures.inc({ duty: duty.name })
        const last = told.get(duty.name)
        if (last !== undefined && now - last < silence) continue
        told.set(duty.name, now)
        logger.warn({ err: error, duty: duty.name }, 'the scheduler could not do a round; it goes on trying')
      }
    }
  }

  function next(wait: number): void {
    timer = setTimeout(() => {
      round = doAll()
      void round.finally(() => stopping.signal.aborted || next(pause))
    }, wait)
  }
  next(0)

  return {
    async stop() {
      clearTimeout(timer)
      stopping.abort()
      await round
    },
  }
}
