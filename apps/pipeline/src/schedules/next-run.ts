import { toCronExpression, computeStableNumber } from './schedule-to-cron.ts'
import { findNextTick } from './next-cron-tick.ts'
import type { Schedule } from './schedule.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

/**
 * Times in milliseconds. `full` is the next full load. `run` is the next run of any mode, so it is never later than
 * `full`.
 */
export interface NextRun {
  run?: number
  full?: number
}

/**
 * Returns the next run after a time. Without continuous updates, every run is a full load. With them, incremental runs
 * follow `continuousUpdateInterval`, and full loads follow `fullRefreshInterval` and the trigger. Throws `CronProblem`
 * for an invalid stored expression.
 */
export function computeNextRun(schedule: Schedule, zone: string, after: number): NextRun {
  if (schedule.disabled) return {}
  const expression = toCronExpression(schedule)
  const nextTrigger = expression === undefined ? undefined : findNextTick(expression, zone, after)
  if (!schedule.continuouslyUpdated) return toNextRun(nextTrigger, nextTrigger)
  const { uid, continuousUpdateInterval: minutes, fullRefreshInterval: hours } = schedule
  const nextFullRefresh = hours === null ? undefined : findNextMultiple(uid, hours * hourMs, after)
  const nextUpdate = minutes === null ? undefined : findNextMultiple(uid, minutes * minuteMs, after)
  const full = minDefined(nextTrigger, nextFullRefresh)
  return toNextRun(minDefined(full, nextUpdate), full)
}

/**
 * Returns the next multiple of an interval, plus an offset that depends on the uid. The offset spreads the runs of all
 * objects over time. A late run does not delay later ones. The ticks of a schedule's two intervals coincide if one is a
 * multiple of the other.
 */
function findNextMultiple(uid: string, interval: number, after: number): number {
  const offset = computeStableNumber(uid, 'beat', interval / minuteMs) * minuteMs
  return (Math.floor((after - offset) / interval) + 1) * interval + offset
}

function minDefined(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}

const toNextRun = (run: number | undefined, full: number | undefined): NextRun => ({
  ...(run !== undefined && { run }),
  ...(full !== undefined && { full }),
})

/** The ticks (planned times) of a schedule that are due. A single run covers all of them. */
export interface DueTicks {
  /** The last due tick in milliseconds. The run is started for this tick. */
  tick: number
  /** The number of due ticks before the last one. */
  missed: number
  /** Whether `missed` reached its maximum although more ticks are due. */
  more: boolean
}

/** The maximum number of ticks that are counted, because counting every minute of a year would take seconds. */
const maxCounted = 1_000

/** Counts the ticks from `planned` to `now`, both in milliseconds. */
export function countDueTicks(schedule: Schedule, zone: string, planned: number, now: number): DueTicks {
  let tick = planned
  for (let missed = 0; ; missed += 1) {
    const { run } = computeNextRun(schedule, zone, tick)
    if (run === undefined || run > now) return { tick, missed, more: false }
    if (missed === maxCounted) return { tick, missed, more: true }
    tick = run
  }
}
