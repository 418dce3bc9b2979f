import { parseCron } from './parse-cron.ts'
import { listInstants, getUtcOffset, toWallClockTime } from './wall-clock.ts'

/** The maximum change of a zone's UTC offset in milliseconds. */
const maxOffsetChange = 4 * 3_600_000

const tickCache = new Map<string, number | undefined>()
const maxCachedTicks = 10_000

/**
 * Returns the next tick like `computeNextTick`, from a cache: most schedules of an organisation use one of a few
 * expressions.
 */
export function findNextTick(expression: string, zone: string, after: number): number | undefined {
  const key = `${expression} ${zone} ${after}`
  if (tickCache.has(key)) return tickCache.get(key)
  const tick = computeNextTick(expression, zone, after)
  if (tickCache.size >= maxCachedTicks) tickCache.clear()
  tickCache.set(key, tick)
  return tick
}

/**
 * Returns the next tick of a cron expression in a time zone, in milliseconds. Returns undefined if no tick follows. A
 * local time that daylight saving skips moves by one hour. A local time that occurs twice is used once, at its first
 * occurrence, unless the expression contains every hour. Throws `CronProblem`.
 */
function computeNextTick(expression: string, zone: string, after: number): number | undefined {
  const cron = parseCron(expression)
  const wall = toWallClockTime(zone, after)
  const offsetBefore = getUtcOffset(zone, after - maxOffsetChange)
  const offsetAfter = getUtcOffset(zone, after + maxOffsetChange)
  if (offsetBefore === offsetAfter) {
    const next = cron.next(wall)
    return next === undefined ? undefined : listInstants(zone, next)[0]
  }

  // Near an offset change, a later local time can be an earlier instant, so compare all candidates.
  const candidates: number[] = []
  let wallTick = cron.next(wall - maxOffsetChange - 1)
  while (wallTick !== undefined && wallTick <= wall + 2 * maxOffsetChange) {
    const instants = listInstants(zone, wallTick)
    candidates.push(...(cron.everyHour ? instants : instants.slice(0, 1)))
    wallTick = cron.next(wallTick)
  }
  const laterInstants = candidates.filter((instant) => instant > after)
  if (laterInstants.length > 0) return Math.min(...laterInstants)
  return wallTick === undefined ? undefined : listInstants(zone, wallTick)[0]
}
