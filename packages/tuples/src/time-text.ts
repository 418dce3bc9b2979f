import { daysFrom2000, isDay, type Moment } from './calendar.ts'

const shape =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(?: ?(Z|[+-]\d\d(?::?\d\d)?))?$/i

/** What a text of a day, or of a day and a time, came to. `ZERO` is a day with a zero in it, such as `0000-00-00`. */
export type Read = 'DAY' | 'TIME' | 'ZERO' | undefined

/**
 * Reads `2026-11-21`, `2026-11-21 09:30:00.123456`, with or without `T`, seconds, `Z` and an offset, into a moment; with an
 * offset it is the moment in UTC. Fractions finer than a microsecond are rounded, as PostgreSQL does. Years 1 to 9999.
 * Undefined for anything else.
 */
export function readTime(text: string, moment: Moment): Read {
  const [whole, y, m, d, hours, minutes, seconds = '0', fraction = '', offset] = shape.exec(text) ?? []
  if (whole === undefined) return undefined
  const [year, month, day] = [Number(y), Number(m), Number(d)]
  if (year === 0 || month === 0 || day === 0) return 'ZERO'
  if (!isDay(year, month, day)) return undefined
  moment.days = daysFrom2000(year, month, day)
  moment.seconds = 0
  moment.microseconds = 0
  if (hours === undefined) return offset === undefined ? 'DAY' : undefined
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  moment.seconds = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  moment.microseconds = Math.round(Number(fraction.padEnd(9, '0')) / 1000)
  if (offset !== undefined && offset.toUpperCase() !== 'Z') moment.seconds -= offsetSeconds(offset)
  return 'TIME'
}

function offsetSeconds(offset: string): number {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', ''))
  return (offset.startsWith('-') ? -60 : 60) * minutes
}
