import { SPACE, PLUS, MINUS, POINT } from './ascii'
import { DATE, TEXT, TIMESTAMP, TIMESTAMPTZ } from './column-state'
import { dateBytes, days, readDate, foundDateFormats, twoDigits } from './read-date'
import { recordDate, recordTime } from './record-source-formats'

export { days, looksLikeDate, foundDateFormats } from './read-date'

const COLON: u8 = 58
const T: u8 = 84
const Z: u8 = 90

const MICROSECONDS_OF_DAY: i64 = 86_400_000_000

export const INFERABLE_DATE_FORMATS: u8 = 0x7f

/**
 * The microseconds since midnight of the last `readTime`, in UTC. The offset of a zone can move them out of the day.
 */
let microseconds: i64 = 0
/** The position of the zone of the last `readTime`. It is the end of the value if it has no zone. */
let zoneStart: usize = 0

/**
 * Reads a date or time for `recordTimeFormat` and `lastTimestamp`. Returns its kind:
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
  const time = from + dateBytes
  if (time == to) return DATE
  const separator = load<u8>(time)
  if ((separator != T && separator != SPACE) || to - time < 6) return TEXT
  const hour = twoDigits(time + 1)
  const minute = twoDigits(time + 4)
  if (hour > 23 || load<u8>(time, 3) != COLON || minute > 59) return TEXT
  microseconds = <i64>(hour * 3600 + minute * 60) * 1_000_000
  let at = time + 6
  if (at + 3 <= to && load<u8>(at) == COLON) {
    const second = twoDigits(at + 1)
    if (second > 59) return TEXT
    microseconds += <i64>second * 1_000_000
    at += 3
    if (at < to && load<u8>(at) == POINT) {
      at = readFraction(at + 1, to)
      if (at == 0) return TEXT
    }
  }
  zoneStart = at
  if (at == to) return TIMESTAMP
  return readZone(at, to) ? TIMESTAMPTZ : TEXT
}

/**
 * Adds a fraction of a second, of one to six digits, to `microseconds`. Returns the position after it, or 0 if it has
 * another number of digits.
 */
@inline function readFraction(from: usize, to: usize): usize {
  let at = from
  let value: i64 = 0
  while (at < to) {
    const digit = <u32>load<u8>(at) - 48
    if (digit > 9) break
    if (at - from == 6) return 0
    value = value * 10 + <i64>digit
    at++
  }
  if (at == from) return 0
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
 * Reads a time zone and subtracts its offset from `microseconds`. Returns false if it is invalid. PostgreSQL accepts
 * offsets up to 15:59.
 */
function readZone(at: usize, to: usize): bool {
  const length = <i32>(to - at)
  const sign = load<u8>(at)
  if (sign == Z) return length == 1
  if ((sign != PLUS && sign != MINUS) || length < 3) return false
  const hours = twoDigits(at + 1)
  let minutes = 0
  if (length == 5) minutes = twoDigits(at + 3)
  else if (length == 6 && load<u8>(at, 3) == COLON) minutes = twoDigits(at + 4)
  else if (length != 3) return false
  if (hours > 15 || minutes > 59) return false
  const offset = <i64>(hours * 3600 + minutes * 60) * 1_000_000
  microseconds += sign == MINUS ? offset : -offset
  return true
}
