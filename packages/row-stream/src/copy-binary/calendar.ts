const secondsOfDay = 86_400
const two16 = 2 ** 16
const two32 = 2 ** 32
/** Days and microseconds from 1970-01-01 to 2000-01-01, PostgreSQL's epoch. */
export const epochDays = 10_957
export const epochMicroseconds = 946_684_800_000_000n

/** Returns the days since 2000-01-01 of a day in the proleptic Gregorian calendar. `month` is 1 to 12. */
export function daysSince2000(year: number, month: number, day: number): number {
  // The years start in March, so that the leap day is the last day of a year. Month m (from 0) then starts after (153 m
  // + 2) / 5 days. An era is 400 years.
  const yearFromMarch = month > 2 ? year : year - 1
  const monthFromMarch = month > 2 ? month - 3 : month + 9
  const era = Math.floor(yearFromMarch / 400)
  const yearOfEra = yearFromMarch - era * 400
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468 - epochDays
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** True if the date exists and its year is between 1 and 9999. */
export function isDay(year: number, month: number, day: number): boolean {
  if (year < 1 || year > 9999 || month < 1 || month > 12 || day < 1) return false
  const isLeapYear = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return day <= monthDays[month - 1]! + (isLeapYear ? 1 : 0)
}

/** A timestamp as days since 2000-01-01, seconds of that day, and microseconds of that second. */
export interface TimestampParts {
  days: number
  seconds: number
  microseconds: number
}

/** Converts a `Date` to a timestamp in UTC, and writes it into `moment`. */
export const convertDate = (date: Date, moment: TimestampParts): void => {
  const milliseconds = date.getTime()
  const seconds = Math.floor(milliseconds / 1000)
  const days = Math.floor(seconds / secondsOfDay)
  moment.days = days - epochDays
  moment.seconds = seconds - days * secondsOfDay
  moment.microseconds = (milliseconds - seconds * 1000) * 1000
}

/**
 * Writes a timestamp as microseconds since 2000-01-01, in eight bytes. From the year 2285 on they exceed 2^53, up to
 * which numbers are exact, so the upper and the lower 32 bits are computed separately.
 */
export function writeMicroseconds(view: DataView, at: number, { days, seconds, microseconds }: TimestampParts): void {
  const totalSeconds = days * secondsOfDay + seconds
  // The seconds are split at 2^16, so that each product with a million stays an exact number.
  const upperSeconds = Math.floor(totalSeconds / two16)
  const lowerSeconds = totalSeconds - upperSeconds * two16
  const upperMicroseconds = upperSeconds * 1_000_000
  const upperHalf = Math.floor(upperMicroseconds / two16)
  const lowerHalf = (upperMicroseconds - upperHalf * two16) * two16 + lowerSeconds * 1_000_000 + microseconds
  const carry = Math.floor(lowerHalf / two32)
  view.setInt32(at, upperHalf + carry)
  view.setUint32(at + 4, lowerHalf - carry * two32)
}

const timestampPattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?(?: ?(Z|[+-]\d\d(?::?\d\d)?))?$/i

/** The kind of a parsed text. ZERO is a date with a zero year, month or day, such as `0000-00-00`. */
type TimeTextKind = 'DAY' | 'TIME' | 'ZERO' | undefined

/**
 * Parses a text and writes the result into `moment`. Returns DAY for a date such as `2026-11-21`, and TIME for a
 * timestamp such as `2026-11-21 09:30:00.123456`. `T`, seconds, `Z` and a UTC offset are optional; with an offset, the
 * result is in UTC. Returns ZERO, without a result, for a date with a zero year, month or day. Returns undefined for
 * any other text. Rounds fractions finer than a microsecond, as PostgreSQL does. Supports the years 1 to 9999.
 */
export function parseTimeText(text: string, moment: TimestampParts): TimeTextKind {
  const [whole, y, m, d, hours, minutes, seconds = '0', fraction = '', offset] = timestampPattern.exec(text) ?? []
  if (whole === undefined) return undefined
  const [year, month, day] = [Number(y), Number(m), Number(d)]
  if (year === 0 || month === 0 || day === 0) return 'ZERO'
  if (!isDay(year, month, day)) return undefined
  moment.days = daysSince2000(year, month, day)
  moment.seconds = 0
  moment.microseconds = 0
  if (hours === undefined) return offset === undefined ? 'DAY' : undefined
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  moment.seconds = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  moment.microseconds = Math.round(Number(fraction.padEnd(9, '0')) / 1000)
  if (offset !== undefined && offset.toUpperCase() !== 'Z') moment.seconds -= offsetSeconds(offset)
  return 'TIME'
}

/** Returns a UTC offset such as `+05:30`, `-0330` or `+02` in seconds. */
function offsetSeconds(offset: string): number {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', ''))
  return (offset.startsWith('-') ? -60 : 60) * minutes
}
