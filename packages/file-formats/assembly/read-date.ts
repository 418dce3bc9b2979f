import { POINT } from './ascii'

/** Bits for date formats, because a value may have two of them. src/delimited/column-state.ts has the same list. */
export const YEAR_DASHES: u8 = 1
export const YEAR_SLASHES: u8 = 2
export const DAY_POINTS: u8 = 4
export const DAY_SLASHES: u8 = 8
export const MONTH_SLASHES: u8 = 16
export const DAY_DASHES: u8 = 32
export const MONTH_DASHES: u8 = 64
/** `yyyymmdd` counts as a number unless the options declare it as a date. */
export const DIGITS_ONLY: u8 = 128

const DASH: u8 = 45
const SLASH: u8 = 47

/** Larger than every year, month, day, hour, minute and second, so that range checks reject it. */
export const NOT_DIGITS: i32 = 10_000

/** Results of the last `readDate`: the days since 2000-01-01, and the formats that the date may have. */
export let days: i32 = 0
export let foundDateFormats: u8 = 0
/** The length in bytes of that date. */
export let dateBytes: usize = 10

const BYTES_WITHOUT_SEPARATORS: usize = 8
const BYTES_WITH_SEPARATORS: usize = 10

@inline export function twoDigits(at: usize): i32 {
  const tens = <u32>load<u8>(at) - 48
  const ones = <u32>load<u8>(at, 1) - 48
  return tens <= 9 && ones <= 9 ? <i32>(tens * 10 + ones) : NOT_DIGITS
}

@inline function fourDigits(at: usize): i32 {
  return twoDigits(at) * 100 + twoDigits(at + 2)
}

/** True if a value has separators where a date has them. No number has separators there. */
@inline export function looksLikeDate(from: usize, to: usize): bool {
  if (to - from < BYTES_WITH_SEPARATORS) return false
  if (hasYearFirst(from)) return true
  const separator = load<u8>(from, 2)
  return separator == load<u8>(from, 5) && (separator == POINT || separator == SLASH || separator == DASH)
}

/** True if the separators are those of `yyyy-mm-dd` or `yyyy/mm/dd`. */
@inline function hasYearFirst(from: usize): bool {
  const separator = load<u8>(from, 4)
  return separator == load<u8>(from, 7) && (separator == DASH || separator == SLASH)
}

/**
 * Reads a date of the Gregorian calendar at the start of a value, in one of the allowed formats. Returns true if it
 * finds such a date, and then sets `days`, `foundDateFormats` and `dateBytes`.
 */
export function readDate(from: usize, to: usize, allowedFormats: u8): bool {
  const valueBytes = to - from
  if (allowedFormats == DIGITS_ONLY) return valueBytes >= BYTES_WITHOUT_SEPARATORS && readDateOfDigits(from)
  if (valueBytes < BYTES_WITH_SEPARATORS) return false
  dateBytes = BYTES_WITH_SEPARATORS
  return hasYearFirst(from) ? readDateWithYearFirst(from, allowedFormats) : readDateWithYearLast(from, allowedFormats)
}

/** Reads `yyyymmdd`. */
@inline function readDateOfDigits(from: usize): bool {
  dateBytes = BYTES_WITHOUT_SEPARATORS
  foundDateFormats = DIGITS_ONLY
  return setDays(fourDigits(from), twoDigits(from + 4), twoDigits(from + 6))
}

/** Reads `yyyy-mm-dd` or `yyyy/mm/dd`. */
@inline function readDateWithYearFirst(from: usize, allowedFormats: u8): bool {
  const format = load<u8>(from, 4) == DASH ? YEAR_DASHES : YEAR_SLASHES
  foundDateFormats = format & allowedFormats
  return foundDateFormats != 0 && setDays(fourDigits(from), twoDigits(from + 5), twoDigits(from + 8))
}

/** Reads `dd.mm.yyyy`, or a day and a month in either order and a year, with slashes or dashes between them. */
@inline function readDateWithYearLast(from: usize, allowedFormats: u8): bool {
  const separator = load<u8>(from, 2)
  if (separator != load<u8>(from, 5)) return false
  const first = twoDigits(from)
  const second = twoDigits(from + 3)
  const year = fourDigits(from + 6)
  if (separator == POINT) {
    foundDateFormats = DAY_POINTS & allowedFormats
    return foundDateFormats != 0 && setDays(year, second, first)
  }
  if (separator != SLASH && separator != DASH) return false
  const monthFirst = (separator == SLASH ? MONTH_SLASHES : MONTH_DASHES) & allowedFormats
  const dayFirst = (separator == SLASH ? DAY_SLASHES : DAY_DASHES) & allowedFormats
  // Both orders are dates if both numbers are at most 12.
  foundDateFormats = 0
  if (monthFirst != 0 && setDays(year, first, second)) foundDateFormats |= monthFirst
  if (dayFirst != 0 && setDays(year, second, first)) foundDateFormats |= dayFirst
  return foundDateFormats != 0
}

/** Sets `days`. Returns false if the date does not exist. */
@inline function setDays(year: i32, month: i32, day: i32): bool {
  if (year == 0 || year > 9999 || month > 12 || month == 0 || day == 0 || day > daysInMonth(month, year)) return false
  days = daysSince2000(year, month, day)
  return true
}

@inline function daysInMonth(month: i32, year: i32): i32 {
  if (month == 2) return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
  return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31
}

/**
 * Returns the days since 2000-01-01. Its years start in March, so that the leap day is the last day of a year; month m
 * then starts after (153 m + 2) / 5 days.
 */
@inline function daysSince2000(year: i32, month: i32, day: i32): i32 {
  const years = month > 2 ? year : year - 1
  const months = month > 2 ? month - 3 : month + 9
  const dayOfYear = (153 * months + 2) / 5 + day - 1
  return years * 365 + years / 4 - years / 100 + years / 400 + dayOfYear - 730_425
}
