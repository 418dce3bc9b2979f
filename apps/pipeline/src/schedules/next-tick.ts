import { parseCron } from './cron.ts'
import { instantsOf, offsetAt, wallAt } from './wall-clock.ts'

/** Maximum change of a zone's UTC offset in milliseconds. */
const nearby = 4 * 3_600_000

/**
 * Returns the next tick of a cron expression in a zone, in milliseconds; undefined without a further tick. A wall-clock time that
 * daylight saving skips becomes one hour later. A repeated wall-clock time is used once, at its first occurrence, unless the
 * expression contains every hour. Throws `CronProblem`.
 */
export function nextTick(expression: string, zone: string, after: number): number | undefined {
  const cron = parseCron(expression)
  const wall = wallAt(zone, after)
  if (offsetAt(zone, after - nearby) === offsetAt(zone, after + nearby)) {
    const next = cron.next(wall)
    return next === undefined ? undefined : instantsOf(zone, next)[0]
  }

  // Near an offset change, wall-clock times and instants have different orders.
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
