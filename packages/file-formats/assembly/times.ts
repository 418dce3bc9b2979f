import { DATE, TEXT, TIMESTAMP, TIMESTAMPTZ } from './column-state'
import { dateBytes, days, readDate, spelled, twoDigits } from './dates'
import { recordDate, recordTime } from './source-formats'

export { days, looksTimed, spelled } from './dates'

const MINUS: u8 = 45
const PLUS: u8 = 43
const POINT: u8 = 46
const COLON: u8 = 58
const SPACE: u8 = 32
const T: u8 = 84
const Z: u8 = 90

const MICROSECONDS_OF_DAY: i64 = 86_400_000_000

export const ALL_SPELLINGS: u8 = 0x7f

/**
 * Microseconds since midnight of the last read time, in UTC. After applying the offset, they may be outside the day.
 */
let microseconds: i64 = 0
/** The position of the zone of the last time; its end if it has none. */
let zoneFrom: usize = 0

/**
 * Returns the kind of a date or time.
 *
 * - DATE: `yyyy-mm-dd` or another allowed spelling.
 * - TIMESTAMP: a date, `T` or a space, and `hh:mm[:ss[.f{1,6}]]`.
 * - TIMESTAMPTZ: a timestamp, and `Z`, `±hh`, `±hhmm` or `±hh:mm`.
 * - TEXT: everything else, including days that do not exist, years outside 0001–9999, 24:00, leap seconds, and
 *   fractions finer than a microsecond, which would be rounded.
 */
export function timeKind(from: usize, to: usize, allowed: u8): u8 {
  if (!readDate(from, to, allowed)) return TEXT
  microseconds = 0
  const time = from + dateBytes
  if (time == to) return DATE
  const between = load<u8>(time)
  if ((between != T && between != SPACE) || to - time < 6) return TEXT
  const hour = twoDigits(time + 1)
  const minute = twoDigits(time + 4)
  if (hour > 23 || load<u8>(time, 3) != COLON || minute > 59) return TEXT
  let micros = <i64>(hour * 3600 + minute * 60) * 1_000_000
  let at = time + 6
  if (at + 3 <= to && load<u8>(at) == COLON) {
    const second = twoDigits(at + 1)
    if (second > 59) return TEXT
    micros += <i64>second * 1_000_000
    at += 3
    if (at < to && load<u8>(at) == POINT) {
      const fraction = ++at
      let value: i64 = 0
      while (at < to) {
        const digit = <u32>load<u8>(at) - 48
        if (digit > 9) break
        if (at - fraction == 6) return TEXT
        value = value * 10 + <i64>digit
        at++
      }
      if (at == fraction) return TEXT
      for (let digits = at - fraction; digits < 6; digits++) value *= 10
      micros += value
    }
  }
  microseconds = micros
  zoneFrom = at
  if (at == to) return TIMESTAMP
  return readZone(at, to) ? TIMESTAMPTZ : TEXT
}

/** Records in the column's state how the last date or time is printed. It is of this kind and ends at `to`. */
@inline export function recordTimeForm(state: usize, from: usize, to: usize, kind: u8): void {
  if (kind == DATE) recordDate(state, spelled)
  else recordTime(state, spelled, from + dateBytes, zoneFrom, to)
}

/** Returns the last date and time as a timestamp of PostgreSQL: microseconds since 2000-01-01. */
@inline export function timestamp(): i64 {
  return <i64>days * MICROSECONDS_OF_DAY + microseconds
}

/**
 * Reads a time zone and applies its offset to the last read time. Returns false if it is invalid. PostgreSQL accepts
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
