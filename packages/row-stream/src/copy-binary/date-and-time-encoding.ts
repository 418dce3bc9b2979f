const secondsOfDay = 86_400
const microsecondsPerSecond = 1_000_000
const two16 = 2 ** 16
const two32 = 2 ** 32
/** Days and microseconds from 1970-01-01 to 2000-01-01, PostgreSQL's epoch. */
export const epochDays = 10_957
export const epochMicroseconds = 946_684_800_000_000n

/** The number of days from March 1 of the year 0 to 2000-01-01. */
const daysBefore2000 = 719_468 + epochDays

/** Returns the days since 2000-01-01 of a day in the proleptic Gregorian calendar. `month` is 1 to 12. */
export function daysSince2000(year: number, month: number, day: number): number {
  // Years start in March here, so that the leap day is the last day of a year.
  const isBeforeMarch = month <= 2
  const shiftedYear = isBeforeMarch ? year - 1 : year
  const monthsAfterMarch = isBeforeMarch ? month + 9 : month - 3
  const leapDays = Math.floor(shiftedYear / 4) - Math.floor(shiftedYear / 100) + Math.floor(shiftedYear / 400)
  const daysBeforeYear = shiftedYear * 365 + leapDays
  // From March on, five months have 153 days (31 + 30 + 31 + 30 + 31), and the pattern repeats.
  const daysBeforeMonth = Math.floor((153 * monthsAfterMarch + 2) / 5)
  return daysBeforeYear + daysBeforeMonth + day - 1 - daysBefore2000
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
  // totalSeconds = upperSeconds * 2^16 + lowerSeconds, so that each product with a million stays an exact number.
  const upperSeconds = Math.floor(totalSeconds / two16)
  const lowerSeconds = totalSeconds - upperSeconds * two16
  // In units of 2^16 microseconds. Its bits from 2^16 on are the upper 32 bits of the result.
  const upperMicroseconds = upperSeconds * microsecondsPerSecond
  const upper32Bits = Math.floor(upperMicroseconds / two16)
  const lowerMicroseconds =
    (upperMicroseconds - upper32Bits * two16) * two16 + lowerSeconds * microsecondsPerSecond + microseconds
  const carry = Math.floor(lowerMicroseconds / two32)
  view.setInt32(at, upper32Bits + carry)
  view.setUint32(at + 4, lowerMicroseconds - carry * two32)
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
  const [match, yearText, monthText, dayText, hours, minutes, seconds = '0', fraction = '', offset] =
    timestampPattern.exec(text) ?? []
  if (match === undefined) return undefined
  const [year, month, day] = [Number(yearText), Number(monthText), Number(dayText)]
  if (year === 0 || month === 0 || day === 0) return 'ZERO'
  if (!isDay(year, month, day)) return undefined
  moment.days = daysSince2000(year, month, day)
  moment.seconds = 0
  moment.microseconds = 0
  const isDateOnly = hours === undefined
  if (isDateOnly) return offset === undefined ? 'DAY' : undefined
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined
  const secondsOfLocalDay = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)
  moment.seconds = secondsOfLocalDay - offsetSeconds(offset ?? 'Z')
  const nanoseconds = Number(fraction.padEnd(9, '0'))
  moment.microseconds = Math.round(nanoseconds / 1000)
  return 'TIME'
}

/** Returns a UTC offset such as `+05:30`, `-0330`, `+02` or `Z` in seconds. */
function offsetSeconds(offset: string): number {
  if (offset.toUpperCase() === 'Z') return 0
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(3).replace(':', ''))
  return (offset.startsWith('-') ? -60 : 60) * minutes
}
