import { DECIMAL, DOUBLE, INTEGER, TEXT } from './columns'

/** How much room an integer needs: SMALLINT, INTEGER, BIGINT, or more than that. */
export const SMALL: u8 = 0
export const MIDDLE: u8 = 1
export const BIG: u8 = 2
export const HUGE: u8 = 3

/** Digits of a DECIMAL that every warehouse has. */
export const MAX_PRECISION: i32 = 38
export const LONGEST_NUMBER: i32 = 128

const MINUS: u32 = 45
const PLUS: u32 = 43

/** What stands before the fraction: a point, or a comma. */
export let decimal: u8 = 46

export function setDecimal(byte: u8): void {
  decimal = byte
}

/** What the last number needs. A lone zero before the point counts as no digit. */
export let room: u8 = SMALL
export let integerDigits: u8 = 0
export let scale: u8 = 0

/** Asked for the rare number whose exponent has three digits or more: is it within the range of a double? */
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
 * The narrowest kind that holds the number exactly. TEXT for what a number type would change or nobody means as a number:
 * leading zeros, a leading plus, spaces, thousands separators, a point without digits behind it, what overflows a double, and
 * codes that look like numbers with an exponent (see isCode). DOUBLE for exponents, for more than 38 digits with a point, and for `-0`, whose sign no exact type keeps.
 */
export function numberKind(from: usize, to: usize): u8 {
  if (<i32>(to - from) > LONGEST_NUMBER) return TEXT
  const negative = <u32>load<u8>(from) == MINUS
  const start = negative ? from + 1 : from
  let at = start
  // Wraps around beyond 19 digits, where it is not looked at.
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
  room = SMALL
  if (at == to) {
    if (digits == 0) return TEXT
    if (negative && whole == 0) return DOUBLE
    room = roomOf(digits, negative, value)
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
  // The digits of a number with an exponent say nothing about the room it needs.
  integerDigits = 0
  scale = 0
  return hasExponent(from, at, to) && !isCode(start, to) ? DOUBLE : TEXT
}

/** Nineteen digits always fit into 64 bits without a sign. */
@inline function roomOf(digits: i32, negative: bool, value: u64): u8 {
  const sign: u64 = negative ? 1 : 0
  if (digits > 19) return HUGE
  if (value <= 32767 + sign) return SMALL
  if (value <= 2147483647 + sign) return MIDDLE
  return value <= 9223372036854775807 + sign ? BIG : HUGE
}

/**
 * `1E30`: digits, a letter, digits. Classifications of diseases have such codes, and programs that print numbers put a point
 * before the exponent or a sign into it: `1.0E30`, `1e+30`. `start` is behind a minus.
 */
export function isCode(start: usize, to: usize): bool {
  const at = afterDigits(start, to)
  if (at + 1 >= to || (load<u8>(at) | 32) != 101) return false
  const next = <u32>load<u8>(at, 1)
  return next != MINUS && next != PLUS
}

/** `e5`, `E-05` to the end, and a number within the range of a double. */
function hasExponent(from: usize, at: usize, to: usize): bool {
  if ((load<u8>(at) | 32) != 101) return false
  const sign = at + 1 < to ? <u32>load<u8>(at, 1) : 0
  const digits = sign == MINUS || sign == PLUS ? at + 2 : at + 1
  if (digits == to || afterDigits(digits, to) != to) return false
  // Two digits of exponent cannot leave the range, however many digits stand before them.
  if (to - digits <= 2) return true
  return exponentFits(from, <i32>(to - from)) != 0
}
