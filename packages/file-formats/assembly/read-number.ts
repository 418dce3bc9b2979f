import { PLUS, MINUS, ZERO, LOWER_E } from './ascii'
import { DECIMAL, DOUBLE, INTEGER, TEXT } from './column-state'

/** Codes for the smallest integer type that an integer fits. */
export const FITS_SMALLINT: u8 = 0
export const FITS_INTEGER: u8 = 1
export const FITS_BIGINT: u8 = 2
export const EXCEEDS_BIGINT: u8 = 3

/** The maximum digits of a DECIMAL that every warehouse supports. */
export const MAX_PRECISION: i32 = 38
/** Longer texts are never numbers. */
export const MAX_NUMBER_BYTES: i32 = 128

/** The decimal sign as a byte: point or comma. */
export let decimal: u8 = 46

export function setDecimal(byte: u8): void {
  decimal = byte
}

/** Results of the last `readNumber`. A single zero before the point does not count as an integer digit. */
export let integerSize: u8 = FITS_SMALLINT
export let integerDigits: u8 = 0
export let scale: u8 = 0

/**
 * Lets the host (the calling JavaScript) check that a double can represent a number. Called only for exponents of three
 * or more digits, which are rare.
 */
@external('host', 'exponentFits')
declare function exponentFits(from: usize, length: i32): i32

@inline function digitAt(at: usize): u32 {
  return <u32>load<u8>(at) - 48
}

/** Returns the position of the first byte that is not a digit, or `to`. */
@inline export function skipDigits(from: usize, to: usize): usize {
  let at = from
  while (at < to && digitAt(at) <= 9) at++
  return at
}

/**
 * Returns the narrowest kind that represents a value exactly: INTEGER, DECIMAL, DOUBLE or TEXT. For a number, sets
 * `integerSize`, `integerDigits` and `scale`.
 *
 * - TEXT: values that a number type would change, and codes. These have leading zeros, a leading plus, spaces,
 *   thousands separators, a point without digits after it, are out of the range of a double, or look like numbers with
 *   an exponent (see `looksLikeCode`).
 * - DOUBLE: exponents, more than 38 digits with a point, and `-0`, because no exact type keeps its sign.
 */
export function readNumber(from: usize, to: usize): u8 {
  if (<i32>(to - from) > MAX_NUMBER_BYTES) return TEXT
  const negative = <u32>load<u8>(from) == MINUS
  const firstDigit = negative ? from + 1 : from
  let at = firstDigit
  // Overflows after 19 digits, but is not used for such numbers.
  let integer: u64 = 0
  while (at < to) {
    const digit = digitAt(at)
    if (digit > 9) break
    integer = integer * 10 + <u64>digit
    at++
  }
  const digits = <i32>(at - firstDigit)
  const hasLeadingZero = digits > 1 && load<u8>(firstDigit) == ZERO
  if (hasLeadingZero) return TEXT
  const isSingleZero = digits == 1 && integer == 0
  integerDigits = isSingleZero ? 0 : <u8>digits
  scale = 0
  integerSize = FITS_SMALLINT
  if (at == to) return kindOfInteger(digits, negative, integer)
  const hasPoint = load<u8>(at) == decimal
  if (!hasPoint && digits == 0) return TEXT
  if (hasPoint) {
    const fraction = at + 1
    at = skipDigits(fraction, to)
    if (at == fraction) return TEXT
    scale = <u8>(at - fraction)
    if (at == to) return <i32>integerDigits + <i32>scale <= MAX_PRECISION ? DECIMAL : DOUBLE
  }
  // Only an exponent can follow. The digits before it do not determine the size of the number.
  integerDigits = 0
  scale = 0
  const isDouble = endsWithExponent(from, at, to) && !looksLikeCode(firstDigit, to)
  return isDouble ? DOUBLE : TEXT
}

/** Returns the kind of a value that is an optional minus and `digits` digits. Sets `integerSize` for an integer. */
@inline function kindOfInteger(digits: i32, negative: bool, absoluteValue: u64): u8 {
  if (digits == 0) return TEXT
  const isNegativeZero = negative && digits == 1 && absoluteValue == 0
  if (isNegativeZero) return DOUBLE
  integerSize = smallestIntegerSize(digits, negative, absoluteValue)
  return INTEGER
}

/** Returns the smallest size for an integer. `absoluteValue` is exact for up to 19 digits. */
@inline function smallestIntegerSize(digits: i32, negative: bool, absoluteValue: u64): u8 {
  if (digits > 19) return EXCEEDS_BIGINT
  // The range of negative integers is larger by 1.
  const extra: u64 = negative ? 1 : 0
  if (absoluteValue <= <u64>i16.MAX_VALUE + extra) return FITS_SMALLINT
  if (absoluteValue <= <u64>i32.MAX_VALUE + extra) return FITS_INTEGER
  return absoluteValue <= <u64>i64.MAX_VALUE + extra ? FITS_BIGINT : EXCEEDS_BIGINT
}

/**
 * True if a value consists of digits, a letter and digits, like `1E30`. Disease classifications have such codes.
 * Programs print numbers with a point before the exponent or a sign in it: `1.0E30`, `1e+30`. `start` is the position
 * after a minus sign.
 */
export function looksLikeCode(start: usize, to: usize): bool {
  const at = skipDigits(start, to)
  if (at + 1 >= to || (load<u8>(at) | 0x20) != LOWER_E) return false
  const next = <u32>load<u8>(at, 1)
  return next != MINUS && next != PLUS
}

/**
 * True if the bytes from `at` to `to` are an exponent such as `e5` or `E-05`, and a double can represent the number.
 */
function endsWithExponent(from: usize, at: usize, to: usize): bool {
  if ((load<u8>(at) | 0x20) != LOWER_E) return false
  const sign = at + 1 < to ? <u32>load<u8>(at, 1) : 0
  const digits = sign == MINUS || sign == PLUS ? at + 2 : at + 1
  if (digits == to || skipDigits(digits, to) != to) return false
  // An exponent of two digits cannot exceed the range, because the number of digits before it is limited.
  if (to - digits <= 2) return true
  return exponentFits(from, <i32>(to - from)) != 0
}
