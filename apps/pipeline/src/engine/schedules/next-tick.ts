import { parseCron } from './cron.ts'
import { instantsOf, offsetAt, wallAt } from './wall-clock.ts'

/** No clock is put forward or back by more, and seldom by half as much. */
const nearby = 4 * 3_600_000

/**
 * The next moment, in milliseconds, at which the expression comes in this zone; undefined when it never does. A time that is
 * left out when clocks are put forward comes an hour later by the clock. A time that comes twice when they are put back
 * counts once, the first time, unless the expression names every hour: then it keeps its pace. Throws `CronProblem`.
 */
export function nextTick(expression: string, zone: string, after: number): number | undefined {
  const cron = parseCron(expression)
  const wall = wallAt(zone, after)
  if (offsetAt(zone, after - nearby) === offsetAt(zone, after + nearby)) {
    const next = cron.next(wall)
    return next === undefined ? undefined : instantsOf(zone, next)[0]
  }

  // The clock is about to change, or just did: times on the wall and moments are not in the same order.
  let soonest: number | undefined
  let shown = cron.next(wall - nearby - 1)
  for (; shown !== undefined && shown <= wall + 2 * nearby; shown = cron.next(shown)) {
    const instants = instantsOf(zone, shown)
    for (const instant of cron.everyHour ? instants : instants.slice(0, 1))
      if (instant > after && (soonest === undefined || instant < soonest)) soonest = instant
  }
  if (soonest !== undefined || shown === undefined) return soonest
  return instantsOf(zone, shown)[0]
}
