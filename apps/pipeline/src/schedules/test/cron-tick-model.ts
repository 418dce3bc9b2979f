import { CronExpressionParser } from 'cron-parser'
import fc from 'fast-check'
import { toWallClockTime } from '../wall-clock.ts'

export const minute = 60_000
const hour = 60 * minute

export const anyZone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))

/** As often as not within hours of a moment at which some zone's clocks change. */
export const anyMoment = fc.oneof(
  fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2032, 0, 1) }),
  fc
    .tuple(
      fc.constantFrom(
        '2026-03-29T01:00Z',
        '2026-10-25T01:00Z',
        '2026-03-08T09:00Z',
        '2026-11-01T08:00Z',
        '2026-04-04T15:00Z',
        '2026-10-03T16:00Z',
      ),
      fc.integer({ min: -8 * hour, max: 8 * hour }),
    )
    .map(([change, beside]) => Date.parse(change) + beside),
)

/**
 * Returns the ticks within a number of hours. Looks at the local time of every minute, which is slow and too simple to
 * be wrong. After a jump of the clock, also checks the skipped times.
 */
export function modelTicks(expression: string, zone: string, after: number, hours: number): number[] {
  const cron = CronExpressionParser.parse(`0 ${expression}`, { tz: 'UTC' })
  const everyHour = expression.split(' ')[1] === '*'
  const comes = (wall: number) => cron.includesDate(new Date(wall))
  const found = new Set<number>()
  const begin = Math.floor(after / minute) * minute - 6 * hour
  const seen = new Set<number>()
  let before = toWallClockTime(zone, begin - minute)
  for (let instant = begin; instant <= after + hours * hour; instant += minute) {
    const wall = toWallClockTime(zone, instant)
    for (let missed = before + minute; missed < wall; missed += minute)
      if (comes(missed)) found.add(instant + (missed - before - minute))
    if (comes(wall) && (everyHour || !seen.has(wall))) found.add(instant)
    seen.add(wall)
    before = wall
  }
  return [...found].filter((tick) => tick > after && tick <= after + hours * hour).toSorted((a, b) => a - b)
}
