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
  const localAfter = toWallClockTime(zone, after)
  const isOffsetConstant = getUtcOffset(zone, after - maxOffsetChange) === getUtcOffset(zone, after + maxOffsetChange)
  if (isOffsetConstant) return toFirstInstant(zone, cron.next(localAfter))

  // Near an offset change, a later local time can be an earlier instant. So compare the instants of all local ticks
  // around `after`, from one maximum offset change before to two after it.
  const instantsNearby: number[] = []
  const lastNearbyTime = localAfter + 2 * maxOffsetChange
  let localTick = cron.next(localAfter - maxOffsetChange - 1)
  while (localTick !== undefined && localTick <= lastNearbyTime) {
    const instants = listInstants(zone, localTick)
    instantsNearby.push(...(cron.everyHour ? instants : instants.slice(0, 1)))
    localTick = cron.next(localTick)
  }
  const laterInstants = instantsNearby.filter((instant) => instant > after)
  return laterInstants.length > 0 ? Math.min(...laterInstants) : toFirstInstant(zone, localTick)
}

/** Returns the first instant at which the clocks of a zone show a local time. Undefined remains undefined. */
const toFirstInstant = (zone: string, localTime: number | undefined): number | undefined =>
  localTime === undefined ? undefined : listInstants(zone, localTime)[0]
