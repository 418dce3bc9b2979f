import { expressionOf } from './expression.ts'
import { nextRun, type NextRun } from './next-run.ts'
import { nextTick } from './next-tick.ts'
import type { Schedule } from './schedule.ts'
import { instantsOf, offsetAt, wallAt } from './wall-clock.ts'

const longestLook = 40 * 86_400_000
/** Zones are up to 26 hours apart, and a day has 23 at least: what comes daily is always meant by the calendar. */
const shorterThanDays = 20 * 3_600_000

/**
 * The next times once a client has moved from one zone to another. What comes seldom is meant by the calendar: each day's
 * run comes once, at once if its time has gone by in the new zone already. What comes more often than the clocks are apart just goes on.
 */
export function nextRunInNewZone(schedule: Schedule, from: string, to: string, now: number): NextRun {
  const plain = nextRun(schedule, to, now)
  const expression = expressionOf(schedule)
  if (schedule.disabled || schedule.continuouslyUpdated || expression === undefined) return plain
  const apart = Math.abs(offsetAt(from, now) - offsetAt(to, now))
  const last = lastTick(expression, from, now)
  const next = nextTick(expression, from, now)
  if (last === undefined || next === undefined || next - last <= Math.min(apart, shorterThanDays)) return plain
  // An hour that comes twice there: what happened in the second one did not happen in the first.
  const [sameInNew] = instantsOf(to, wallAt(from, last)).toSorted(
    (one, other) => Math.abs(one - last) - Math.abs(other - last),
  )
  const run = nextTick(expression, to, sameInNew!)
  return run === undefined ? {} : { run, full: run }
}

/** The newest tick until now, of the last weeks: what has none in so long need not be counted by days. */
function lastTick(expression: string, zone: string, now: number): number | undefined {
  for (let back = 3_600_000; back <= longestLook; back *= 2) {
    let last: number | undefined
    let tick = nextTick(expression, zone, now - back)
    for (; tick !== undefined && tick <= now; tick = nextTick(expression, zone, tick)) last = tick
    if (last !== undefined) return last
  }
  return undefined
}
