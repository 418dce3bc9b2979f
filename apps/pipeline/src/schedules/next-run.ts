import { expressionOf, stableNumber } from './expression.ts'
import { nextTick } from './next-tick.ts'
import type { Schedule } from './schedule.ts'

const minute = 60_000
const hour = 60 * minute

/** Times in milliseconds. `full` is the next full load; `run` is the next run of any mode, so it is never later. */
export interface NextRun {
  run?: number
  full?: number
}

/**
 * Returns the next run after a time. Without continuous updates, every run is a full load. With them, incremental runs follow
 * `continuousUpdateInterval`, and full loads follow `fullRefreshInterval` and the trigger. Throws `CronProblem` for an invalid
 * stored expression.
 */
export function nextRun(schedule: Schedule, zone: string, after: number): NextRun {
  if (schedule.disabled) return {}
  const expression = expressionOf(schedule)
  const triggered = expression === undefined ? undefined : nextTick(expression, zone, after)
  if (!schedule.continuouslyUpdated) return times(triggered, triggered)
  const { uid, continuousUpdateInterval: minutes, fullRefreshInterval: hours } = schedule
  const full = soonest(triggered, hours === null ? undefined : nextMultiple(uid, hours * hour, after))
  return times(soonest(full, minutes === null ? undefined : nextMultiple(uid, minutes * minute, after)), full)
}

/**
 * Returns the next multiple of an interval, with an offset that is derived from the uid. The offset spreads the updates of all
 * objects over time, and a late run does not shift later ones. Ticks of an interval and of its multiples coincide.
 */
function nextMultiple(uid: string, interval: number, after: number): number {
  const offset = stableNumber(uid, 'beat', interval / minute) * minute
  return (Math.floor((after - offset) / interval) + 1) * interval + offset
}

function soonest(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}

const times = (run: number | undefined, full: number | undefined): NextRun => ({
  ...(run !== undefined && { run }),
  ...(full !== undefined && { full }),
})

/** The ticks that are due: one run covers all of them. */
export interface DueTicks {
  /** Time of the newest due tick, in milliseconds. The run gets this time. */
  tick: number
  /** Number of earlier due ticks. */
  missed: number
  /** Whether `missed` reached its maximum and further ticks are due. */
  more: boolean
}

/** Counting a year of minutes would take seconds. */
const maxCounted = 1_000

/** Returns the ticks from `planned` until `now`. */
export function ticksDue(schedule: Schedule, zone: string, planned: number, now: number): DueTicks {
  let tick = planned
  for (let missed = 0; ; missed += 1) {
    const { run } = nextRun(schedule, zone, tick)
    if (run === undefined || run > now) return { tick, missed, more: false }
    if (missed === maxCounted) return { tick, missed, more: true }
    tick = run
  }
}
