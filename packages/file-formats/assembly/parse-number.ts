import { DECIMAL, DOUBLE, INTEGER, TEXT } from './column-state'

/** Codes for the smallest type for an integer: SMALLINT, INTEGER, BIGINT, or none of them. */
export const SMALL: u8 = 0
export const MIDDLE: u8 = 1
export const BIG: u8 = 2
export const HUGE: u8 = 3

/** The maximum digits of a DECIMAL that every warehouse supports. */
export const MAX_PRECISION: i32 = 38
export const LONGEST_NUMBER: i32 = 128

const MINUS: u32 = 45
const PLUS: u32 = 43

/** The decimal sign as a byte: point or comma. */
export let decimal: u8 = 46

export function setDecimal(byte: u8): void {
  decimal = byte
}

/** The size and digits that the last number needs. A single zero before the point does not count. */
export let integerSize: u8 = SMALL
export let integerDigits: u8 = 0
export let scale: u8 = 0

/**
 * Calls the host (the calling JavaScript) to check the rare numbers with an exponent of three or more digits against
 * the range of a double.
 */
@external('host', 'exponentFits')
declare function exponentFits(from: usize, length: i32): i32

@inline function digitAt(at: usize): u32 {
  return <u32>load<u8>(at) - 48
}

@inline export function afterDigits(from: usize, to: usize): usize {
  let at = from
  while (at < to && digitAt(at) <= 9) at++
  return at
}

/**
 * Returns the narrowest kind that represents a number exactly.
 *
 * - TEXT: values that a number type would change, and codes. These have leading zeros, a leading plus, spaces,
 *   thousands separators, a point without digits after it, are out of the range of a double, or look like numbers with
 *   an exponent (see `isCode`).
 * - DOUBLE: exponents, more than 38 digits with a point, and `-0`, because no exact type keeps its sign.
 */
export function numberKind(from: usize, to: usize): u8 {
  if (<i32>(to - from) > LONGEST_NUMBER) return TEXT
  const negative = <u32>load<u8>(from) == MINUS
  const start = negative ? from + 1 : from
  let at = start
  // Overflows after 19 digits, but is not used for such numbers.
  let value: u64 = 0
  while (at < to) {
    const digit = digitAt(at)
    if (digit > 9) break
    value = value * 10 + <u64>digit
    at++
  }
  const digits = <i32>(at - start)
  if (digits > 1 && load<u8>(start) == 48) return TEXT
  const whole = digits == 1 && value == 0 ? 0 : digits
  integerDigits = <u8>whole
  scale = 0
  integerSize = SMALL
  if (at == to) {
    if (digits == 0) return TEXT
    if (negative && whole == 0) return DOUBLE
    integerSize = integerSizeOf(digits, negative, value)
    return INTEGER
  }
  if (load<u8>(at) == decimal) {
    const fraction = at + 1
    at = afterDigits(fraction, to)
    const places = <i32>(at - fraction)
    if (places == 0) return TEXT
    scale = <u8>places
    if (at == to) return whole + places <= MAX_PRECISION ? DECIMAL : DOUBLE
  } else if (digits == 0) return TEXT
  // The digits of a number with an exponent do not determine its size.
  integerDigits = 0
  scale = 0
  return hasExponent(from, at, to) && !isCode(start, to) ? DOUBLE : TEXT
}

/** Returns the smallest size for an integer. `value` is its absolute value, which is exact for up to 19 digits. */
@inline function integerSizeOf(digits: i32, negative: bool, value: u64): u8 {
  const sign: u64 = negative ? 1 : 0
  if (digits > 19) return HUGE
  if (value <= 32767 + sign) return SMALL
  if (value <= 2147483647 + sign) return MIDDLE
  return value <= 9223372036854775807 + sign ? BIG : HUGE
}

/**
 * True if a value consists of digits, a letter and digits, like `1E30`. Disease classifications have such codes.
 * Programs print numbers with a point before the exponent or a sign in it: `1.0E30`, `1e+30`. `start` is the position
 * after a minus sign.
 */
export function isCode(start: usize, to: usize): bool {
  const at = afterDigits(start, to)
  if (at + 1 >= to || (load<u8>(at) | 32) != 101) return false
  const next = <u32>load<u8>(at, 1)
  return next != MINUS && next != PLUS
}

/** True if the rest is an exponent such as `e5` or `E-05` and the number is within the range of a double. */
function hasExponent(from: usize, at: usize, to: usize): bool {
  if ((load<u8>(at) | 32) != 101) return false
  const sign = at + 1 < to ? <u32>load<u8>(at, 1) : 0
  const digits = sign == MINUS || sign == PLUS ? at + 2 : at + 1
  if (digits == to || afterDigits(digits, to) != to) return false
  // An exponent of two digits cannot exceed the range, because the number of digits before it is limited.
  if (to - digits <= 2) return true
  return exponentFits(from, <i32>(to - from)) != 0
}
