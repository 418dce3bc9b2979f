import { DATE, TEXT, TIMESTAMP, TIMESTAMPTZ } from './kinds.ts'

const MINUS = 45
const PLUS = 43
const POINT = 46
const ZERO = 48
const COLON = 58
const SPACE = 32
const T = 84
const Z = 90

/** Above every field of a date or time, so that a range check refuses it. */
const notDigits = 1000

const monthDays = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/**
 * DATE `yyyy-mm-dd`, TIMESTAMP with `T` or a space and `hh:mm[:ss[.f{1,6}]]`, TIMESTAMPTZ with `Z`, `±hh`, `±hhmm` or `±hh:mm` behind it;
 * TEXT for everything else: other notations, days that do not exist, years outside 0001–9999, 24:00, leap seconds,
 * and fractions finer than a microsecond, which would be rounded.
 */
export function timeKind(bytes: Uint8Array, from: number, to: number): number {
  if (!isDate(bytes, from, to)) return TEXT
  const time = from + 10
  if (time === to) return DATE
  if ((bytes[time] !== T && bytes[time] !== SPACE) || to - time < 6) return TEXT
  if (twoDigits(bytes, time + 1) > 23 || bytes[time + 3] !== COLON || twoDigits(bytes, time + 4) > 59) return TEXT
  let at = time + 6
  if (at + 3 <= to && bytes[at] === COLON) {
    if (twoDigits(bytes, at + 1) > 59) return TEXT
    at += 3
    if (at < to && bytes[at] === POINT) {
      const fraction = ++at
      while (at < to && bytes[at]! >= ZERO && bytes[at]! <= ZERO + 9) at++
      if (at === fraction || at - fraction > 6) return TEXT
    }
  }
  if (at === to) return TIMESTAMP
  return isZone(bytes, at, to) ? TIMESTAMPTZ : TEXT
}

/** Whether the first ten bytes are a day of the Gregorian calendar. */
function isDate(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from < 10 || bytes[from + 4] !== MINUS || bytes[from + 7] !== MINUS) return false
  const century = twoDigits(bytes, from)
  const ofCentury = twoDigits(bytes, from + 2)
  const month = twoDigits(bytes, from + 5)
  const day = twoDigits(bytes, from + 8)
  if (century === notDigits || ofCentury === notDigits || month > 12 || month === 0) return false
  const year = century * 100 + ofCentury
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return year > 0 && day > 0 && day <= monthDays[month]! + (leap && month === 2 ? 1 : 0)
}

/** Offsets that PostgreSQL takes: up to 15:59. */
function isZone(bytes: Uint8Array, at: number, to: number): boolean {
  const length = to - at
  if (bytes[at] === Z) return length === 1
  if ((bytes[at] !== PLUS && bytes[at] !== MINUS) || length < 3 || twoDigits(bytes, at + 1) > 15) return false
  if (length === 3) return true
  if (length === 5) return twoDigits(bytes, at + 3) <= 59
  return length === 6 && bytes[at + 3] === COLON && twoDigits(bytes, at + 4) <= 59
}

function twoDigits(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - ZERO
  const ones = bytes[at + 1]! - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : notDigits
}
