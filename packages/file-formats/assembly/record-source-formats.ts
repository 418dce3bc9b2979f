import { SPACE, PLUS, MINUS, ZERO } from './ascii'

/*
 * Records how the written values of a column are printed in the text. src/delimited/source-formats makes a format of
 * it. In the state of a column, where 0 means that no value was written yet: flags u16 @16, date formats u8 @18, the
 * digits of integers with leading zeros u8 @22, the digits of the shortest other integer u8 @20 (as 20 minus the
 * digits), the digits after the point u8 @21 (plus 1), the text of the time zone u64 @24.
 */

/** At least one value was written. Not set for inferred integers, because an integer is printed in only one format. */
const VALUE: u32 = 1
/** A value is printed in a way that no format describes: a plus, a zero with a minus, or too many leading zeros. */
const IRREGULAR: u32 = 2

/** Decimals and fractions of seconds: the number of digits after the point differs; a value ends with a zero. */
const MIXED_SCALE: u32 = 4
const TRAILING_ZERO: u32 = 8
/** Decimals: a value like `.5`; a value like `0.5`. */
const BARE_POINT: u32 = 16
const ZERO_POINT: u32 = 32

/**
 * Times: a value without a time of day; with `T` before it; with a space before it; without seconds; with seconds.
 * MIXED_ZONES: the time zones differ.
 */
const DATE_ONLY: u32 = 64
const T_BETWEEN: u32 = 128
const SPACE_BETWEEN: u32 = 256
const NO_SECONDS: u32 = 512
const SECONDS: u32 = 1024
const MIXED_ZONES: u32 = 2048

/**
 * Booleans. ALL_PAIRS has a bit for each pair of words, such as yes and no. A bit is set once a value has a word of
 * another pair. The other flags say that a word is not in lowercase, not in uppercase, or not capitalised.
 */
const ALL_PAIRS: u32 = 0x7e
const NOT_LOWER: u32 = 0x80
const NOT_UPPER: u32 = 0x100
const NOT_TITLE: u32 = 0x200

/** Values with more digits are irregular. */
const MAX_FRACTION_DIGITS: i32 = 200
const MAX_INTEGER_DIGITS: i32 = 19

/** The flags u16 @16 and the date formats u8 @18 are read and written together as a u32. */
@inline function flagsAt(state: usize): u32 {
  return load<u32>(state, 16)
}

@inline function addFlags(state: usize, flags: u32): void {
  const newFlags = flagsAt(state) | flags
  if (newFlags != flagsAt(state)) store<u32>(state, newFlags, 16)
}

@inline function dateFormatFlags(dateFormats: u8): u32 {
  return <u32>dateFormats << 16
}

/** Stored as 20 minus the digits, so that 0 means that no such integer has been written yet. */
@inline function recordUnpaddedDigits(state: usize, digits: i32): void {
  const stored = 20 - digits
  const isShorter = stored > <i32>load<u8>(state, 20)
  if (isShorter) store<u8>(state, <u8>stored, 20)
}

/** Returns the digits of the integers with leading zeros, or 0. */
@inline function paddedDigitsAt(state: usize): i32 {
  return <i32>load<u8>(state, 22)
}

@inline function setPaddedDigits(state: usize, digits: i32): void {
  store<u8>(state, <u8>digits, 22)
}

/** Returns the text of the time zone as an integer. */
@inline function zoneTextAt(state: usize): u64 {
  return load<u64>(state, 24)
}

@inline function setZoneText(state: usize, zoneText: u64): void {
  store<u64>(state, zoneText, 24)
}

/**
 * Records the number of digits after the point. Returns MIXED_SCALE if earlier values have another number, otherwise 0.
 */
@inline function recordScale(state: usize, scale: i32): u32 {
  const recorded = <i32>load<u8>(state, 21)
  if (recorded == scale + 1) return 0
  if (recorded != 0) return MIXED_SCALE
  store<u8>(state, <u8>(scale + 1), 21)
  return 0
}

/**
 * Records how an integer with digits from `firstDigit` to `to` is printed: the smallest number of digits without
 * leading zeros, and the number of digits with them, as in 007. The integer is irregular if it is -0, has a plus, too
 * many digits, or another number of digits than earlier integers with leading zeros.
 */
export function recordInteger(state: usize, sign: u8, firstDigit: usize, to: usize): void {
  const digits = <i32>(to - firstDigit)
  const startsWithZero = load<u8>(firstDigit) == ZERO
  const isZeroWithMinus = sign == MINUS && startsWithZero
  if (sign == PLUS || isZeroWithMinus || digits > MAX_INTEGER_DIGITS) return addFlags(state, VALUE | IRREGULAR)
  addFlags(state, VALUE)
  const isPadded = digits > 1 && startsWithZero
  if (!isPadded) return recordUnpaddedDigits(state, digits)
  const earlierDigits = paddedDigitsAt(state)
  if (earlierDigits == 0) setPaddedDigits(state, digits)
  else if (earlierDigits != digits) addFlags(state, IRREGULAR)
}

/** Records how a decimal with digits from `digits` to `point` and from `fraction` to `to` is printed. */
@inline export function recordDecimal(
  state: usize, sign: u8, digits: usize, point: usize, fraction: usize, to: usize,
): void {
  const scale = <i32>(to - fraction)
  let flags = VALUE
  // Most numbers begin with a digit from 1 to 9, and need no further checks.
  const startsWithNonZeroDigit = <u32>load<u8>(digits) - 49 <= 8
  if (sign == PLUS || !startsWithNonZeroDigit || scale > MAX_FRACTION_DIGITS) {
    flags |= findUnusualFlags(sign, digits, point, scale, to)
  }
  if (scale > 0 && load<u8>(to - 1) == ZERO) flags |= TRAILING_ZERO
  addFlags(state, flags | recordScale(state, scale))
}

/** Returns the flags of a decimal that may have a sign, begins with a zero or the point, or is long. */
function findUnusualFlags(sign: u8, digits: usize, point: usize, scale: i32, to: usize): u32 {
  const isPadded = point - digits > 1
  if (sign == PLUS || isPadded || scale > MAX_FRACTION_DIGITS) return IRREGULAR
  if (sign == MINUS && isZero(digits, to)) return IRREGULAR
  if (point == digits) return BARE_POINT
  return scale > 0 ? ZERO_POINT : 0
}

/** True if all digits of a number without sign are zeros. In ASCII, the decimal sign comes before the digits. */
function isZero(from: usize, to: usize): bool {
  for (let at = from; at < to; at++) if (load<u8>(at) > ZERO) return false
  return true
}

/** Records how a date without a time of day is printed. */
@inline export function recordDate(state: usize, dateFormats: u8): void {
  addFlags(state, VALUE | DATE_ONLY | dateFormatFlags(dateFormats))
}

/** The bytes of a time with seconds and the separator before it, such as `T12:30:45`. */
const TIME_WITH_SECONDS_BYTES: i32 = 9

/**
 * Records how a date with a time of day is printed: the separator before the time, seconds, digits of their fraction,
 * and the zone. The time, with the separator, is from `time` to `zone`. The time zone is from `zone` to `to`: at most
 * six bytes, and none in a time without a zone.
 */
export function recordTime(state: usize, dateFormats: u8, time: usize, zone: usize, to: usize): void {
  const isFirstTime = (flagsAt(state) & (T_BETWEEN | SPACE_BETWEEN)) == 0
  let flags = VALUE | dateFormatFlags(dateFormats)
  flags |= load<u8>(time) == SPACE ? SPACE_BETWEEN : T_BETWEEN
  const timeBytes = <i32>(zone - time)
  flags |= timeBytes < TIME_WITH_SECONDS_BYTES ? NO_SECONDS : SECONDS
  const pointBytes = 1
  const scale = max<i32>(timeBytes - TIME_WITH_SECONDS_BYTES - pointBytes, 0)
  if (scale > 0 && load<u8>(zone - 1) == ZERO) flags |= TRAILING_ZERO
  flags |= recordScale(state, scale)
  const zoneText = readShortText(zone, to)
  if (isFirstTime) setZoneText(state, zoneText)
  else if (zoneText != zoneTextAt(state)) flags |= MIXED_ZONES
  addFlags(state, flags)
}

/** Returns a text of at most seven bytes as an integer: the first character is the lowest byte. */
@inline function readShortText(from: usize, to: usize): u64 {
  const mask = ((<u64>1) << (<u64>(to - from) * 8)) - 1
  return load<u64>(from) & mask
}

/** The index of the pair 1 and 0, which have no uppercase form. */
const PAIR_OF_DIGITS: i32 = 5

/**
 * Records how a boolean is printed. `pair` is the index of its word in write-boolean.ts, `length` its length.
 * `uppercaseBits` has bit 5 of each byte that is uppercase.
 */
@inline export function recordBoolean(state: usize, pair: i32, length: i32, uppercaseBits: u64): void {
  const pairBit = (<u32>2) << pair
  const flags = VALUE | (ALL_PAIRS & ~pairBit)
  addFlags(state, pair == PAIR_OF_DIGITS ? flags : flags | findCaseFlags(length, uppercaseBits))
}

@inline function findCaseFlags(length: i32, uppercaseBits: u64): u32 {
  if (uppercaseBits == 0) return NOT_UPPER | NOT_TITLE
  const isUppercase = popcnt<u64>(uppercaseBits) == length
  const isOnlyFirstUppercase = uppercaseBits == 0x20
  return NOT_LOWER | (isUppercase ? 0 : NOT_UPPER) | (isOnlyFirstUppercase ? 0 : NOT_TITLE)
}
