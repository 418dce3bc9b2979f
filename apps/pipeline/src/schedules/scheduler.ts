import { replanChangedZones } from './replan-changed-time-zones.ts'
import { planRuns } from './plan-runs.ts'
import { databaseClock, type SchedulerOptions } from './scheduler-context.ts'
import { startDueSchedules } from './start-due-schedules.ts'

export interface Scheduler {
  /** Starts no further round. Resolves when the current round has ended. */
  stop(): Promise<void>
}

/** Milliseconds between two rounds. */
const roundIntervalMs = 1_000
/** Milliseconds between two checks of the organisations' time zones. */
const zoneCheckIntervalMs = 20_000
/** The minimum time in milliseconds between two log lines about the same failing job. */
const logIntervalMs = 60_000

interface SchedulerJob {
  name: string
  run(): Promise<unknown>
  /** The minimum time in milliseconds between two starts of the job. */
  intervalMs?: number
  /** The time of the last start, from `performance.now()`. */
  lastStart?: number
}

/**
 * Once a second, plans new and changed schedules, starts due runs and executes the additional jobs. Replans
 * schedules of organisations that changed their time zone at a longer interval. Every worker has a scheduler; row locks
 * distribute the schedules among them. If a round fails, for example because the database is unavailable, the next
 * round starts its runs.
 */
export function startScheduler({ clock = databaseClock, ...options }: SchedulerOptions): Scheduler {
  const { logger, metrics } = options
  const stopping = new AbortController()
  const context = { ...options, clock, signal: stopping.signal }
  const jobs: SchedulerJob[] = [
    { name: 'planning', run: () => planRuns(context) },
    { name: 'starting', run: () => startDueSchedules(context) },
    // The first round checks the zones, because an organisation may have changed its zone while no worker was running.
    { name: 'zones', run: () => replanChangedZones(context), intervalMs: zoneCheckIntervalMs },
    ...(options.additionalJobs ?? []),
  ]
  const lastLogTimes = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let currentRound = Promise.resolve()

  async function runJobs(): Promise<void> {
    for (const job of jobs) {
      if (stopping.signal.aborted) return
      const now = performance.now()
      const isDue = job.lastStart === undefined || now - job.lastStart >= (job.intervalMs ?? 0)
      if (!isDue) continue
      job.lastStart = now
      try {
        await job.run()
        lastLogTimes.delete(job.name)
      } catch (error) {
        if (stopping.signal.aborted) return
        metrics.failures.inc({ task: job.name })
        const loggedAt = lastLogTimes.get(job.name)
        if (loggedAt !== undefined && now - loggedAt < logIntervalMs) continue
        lastLogTimes.set(job.name, now)
        logger.warn({ err: error, task: job.name }, 'a scheduler job failed; it is retried in the next round')
      }
    }
  }

  function scheduleRound(delay: number): void {
    timer = setTimeout(() => {
      currentRound = runJobs()
      void currentRound.finally(() => stopping.signal.aborted || scheduleRound(roundIntervalMs))
    }, delay)
  }
  scheduleRound(0)

  return {
    async stop() {
      clearTimeout(timer)
      stopping.abort()
      await currentRound
    },
  }
}
