import { expressionOf } from './expression.ts'
import { nextTick } from './next-tick.ts'
import type { Schedule } from './schedule.ts'
import { stableNumber } from './stable-number.ts'

const minute = 60_000
const hour = 60 * minute

/** The next times of something, in milliseconds. `full` is when it is next replaced in full; `run` is never later. */
export interface NextRun {
  run?: number
  full?: number
}

/**
 * When something runs next after this moment. Without continuous updates each run is a full one. With them it is brought up to date
 * every so many minutes, and replaced in full every so many hours as well as when its trigger says. Throws `CronProblem`
 * for a stored expression that is not understood.
 */
export function nextRun(schedule: Schedule, zone: string, after: number): NextRun {
  if (schedule.disabled) return {}
  const expression = expressionOf(schedule)
  const triggered = expression === undefined ? undefined : nextTick(expression, zone, after)
  if (!schedule.continuouslyUpdated) return times(triggered, triggered)
  const { uid, continuousUpdateInterval: minutes, fullRefreshInterval: hours } = schedule
  const full = soonest(triggered, hours === null ? undefined : paced(uid, hours * hour, after))
  return times(soonest(full, minutes === null ? undefined : paced(uid, minutes * minute, after)), full)
}

/**
 * Continuous updates follow a beat of their own that begins at a minute chosen by the uid, so that not all of them come at once
 * and nothing shifts when a run is late. Two beats of which one is a multiple of the other meet.
 */
function paced(uid: string, interval: number, after: number): number {
  const begin = stableNumber(uid, 'beat', interval / minute) * minute
  return (Math.floor((after - begin) / interval) + 1) * interval + begin
}

function soonest(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}

const times = (run: number | undefined, full: number | undefined): NextRun => ({
  ...(run !== undefined && { run }),
  ...(full !== undefined && { full }),
})
