import { SPACE, PLUS, MINUS, POINT } from './ascii'
import { DATE, TEXT, TIMESTAMP, TIMESTAMPTZ } from './column-state'
import { dateBytes, days, readDate, foundDateFormats, twoDigits } from './read-date'
import { recordDate, recordTime } from './record-source-formats'

export { days, looksLikeDate, foundDateFormats } from './read-date'

const COLON: u8 = 58
const T: u8 = 84
const Z: u8 = 90

const MICROSECONDS_OF_SECOND: i64 = 1_000_000
const MICROSECONDS_OF_DAY: i64 = 86_400_000_000

export const INFERABLE_DATE_FORMATS: u8 = 0x7f

/**
 * The microseconds since midnight of the last `readTime`, in UTC. The offset of a zone can move them out of the day.
 */
let microseconds: i64 = 0
/** The position of the zone of the last `readTime`. It is the end of the value if it has no zone. */
let zoneStart: usize = 0

/**
 * Reads a date or time. Returns its kind. `recordTimeFormat` and `lastTimestamp` then refer to it.
 *
 * - DATE: `yyyy-mm-dd` or another allowed format.
 * - TIMESTAMP: a date, `T` or a space, and `hh:mm[:ss[.f{1,6}]]`.
 * - TIMESTAMPTZ: a timestamp, and `Z`, `±hh`, `±hhmm` or `±hh:mm`.
 * - TEXT: everything else, including days that do not exist, years outside 0001–9999, 24:00, leap seconds, and
 *   fractions finer than a microsecond, which would be rounded.
 */
export function readTime(from: usize, to: usize, allowedFormats: u8): u8 {
  if (!readDate(from, to, allowedFormats)) return TEXT
  microseconds = 0
  const dateEnd = from + dateBytes
  if (dateEnd == to) return DATE
  zoneStart = readTimeOfDay(dateEnd, to)
  if (zoneStart == NO_TIME) return TEXT
  if (zoneStart == to) return TIMESTAMP
  return readZone(zoneStart, to) ? TIMESTAMPTZ : TEXT
}

/** The result of `readTimeOfDay` and `readFraction` if they do not find what they read. */
const NO_TIME: usize = 0
/** The bytes of `Thh:mm` and of `:ss`. */
const HOUR_AND_MINUTE_BYTES: usize = 6
const SECOND_BYTES: usize = 3

/**
 * Reads `Thh:mm[:ss[.f{1,6}]]`, where a space may replace the `T`. Sets `microseconds`. Returns the position after it,
 * or NO_TIME.
 */
@inline function readTimeOfDay(from: usize, to: usize): usize {
  const separator = load<u8>(from)
  if ((separator != T && separator != SPACE) || to - from < HOUR_AND_MINUTE_BYTES) return NO_TIME
  const hour = twoDigits(from + 1)
  const minute = twoDigits(from + 4)
  // `twoDigits` returns a large number for other characters.
  if (hour > 23 || load<u8>(from, 3) != COLON || minute > 59) return NO_TIME
  microseconds = <i64>(hour * 3600 + minute * 60) * MICROSECONDS_OF_SECOND
  const afterMinute = from + HOUR_AND_MINUTE_BYTES
  const hasSecond = afterMinute + SECOND_BYTES <= to && load<u8>(afterMinute) == COLON
  if (!hasSecond) return afterMinute
  const second = twoDigits(afterMinute + 1)
  if (second > 59) return NO_TIME
  microseconds += <i64>second * MICROSECONDS_OF_SECOND
  const afterSecond = afterMinute + SECOND_BYTES
  const hasFraction = afterSecond < to && load<u8>(afterSecond) == POINT
  return hasFraction ? readFraction(afterSecond + 1, to) : afterSecond
}

/**
 * Adds a fraction of a second, of one to six digits, to `microseconds`. Returns the position after it, or NO_TIME if it
 * has another number of digits.
 */
@inline function readFraction(from: usize, to: usize): usize {
  let at = from
  let value: i64 = 0
  while (at < to) {
    const digit = <u32>load<u8>(at) - 48
    if (digit > 9) break
    if (at - from == 6) return NO_TIME
    value = value * 10 + <i64>digit
    at++
  }
  if (at == from) return NO_TIME
  for (let digits = at - from; digits < 6; digits++) value *= 10
  microseconds += value
  return at
}

/** Records in the column's state how the value of the last `readTime` is printed. `kind` was its result. */
@inline export function recordTimeFormat(state: usize, from: usize, to: usize, kind: u8): void {
  if (kind == DATE) recordDate(state, foundDateFormats)
  else recordTime(state, foundDateFormats, from + dateBytes, zoneStart, to)
}

/** Returns the value of the last `readTime` as PostgreSQL stores it: microseconds since 2000-01-01. */
@inline export function lastTimestamp(): i64 {
  return <i64>days * MICROSECONDS_OF_DAY + microseconds
}

/**
 * Reads a time zone, `Z`, `±hh`, `±hhmm` or `±hh:mm`, and subtracts its offset from `microseconds`. Returns false if it
 * is invalid. PostgreSQL accepts offsets up to 15:59.
 */
function readZone(from: usize, to: usize): bool {
  const length = <i32>(to - from)
  const sign = load<u8>(from)
  if (sign == Z) return length == 1
  if ((sign != PLUS && sign != MINUS) || length < 3) return false
  const hours = twoDigits(from + 1)
  let minutes = 0
  if (length == 5) minutes = twoDigits(from + 3)
  else if (length == 6 && load<u8>(from, 3) == COLON) minutes = twoDigits(from + 4)
  else if (length != 3) return false
  // `twoDigits` returns a large number for other characters.
  if (hours > 15 || minutes > 59) return false
  const offset = <i64>(hours * 3600 + minutes * 60) * MICROSECONDS_OF_SECOND
  microseconds += sign == MINUS ? offset : -offset
  return true
}
