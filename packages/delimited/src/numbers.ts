import { DECIMAL, DOUBLE, INTEGER, TEXT } from './kinds.ts'

/** How much room an integer needs: SMALLINT, INTEGER, BIGINT, or more than that. */
export const SMALL = 0
export const MIDDLE = 1
export const BIG = 2
export const HUGE = 3

/** Digits of a DECIMAL that every warehouse has. */
export const maxPrecision = 38
const longestNumber = 128

const MINUS = 45
const PLUS = 43
const POINT = 46
const ZERO = 48
const biggest = Buffer.from('9223372036854775807')

/** What the last number needs. A lone zero before the point counts as no digit. */
export const measured = { room: SMALL, integerDigits: 0, scale: 0 }

/**
 * The narrowest kind that holds the number exactly. TEXT for what a number type would change or nobody means as a number:
 * leading zeros, a leading plus, spaces, thousands separators, a point without digits behind it, what overflows a double.
 * DOUBLE for exponents, for more than 38 digits with a point, and for `-0`, whose sign no exact type keeps.
 */
export function numberKind(bytes: Uint8Array, from: number, to: number): number {
  if (to - from > longestNumber) return TEXT
  const negative = bytes[from] === MINUS
  const start = negative ? from + 1 : from
  let at = start
  let value = 0
  while (at < to) {
    const digit = bytes[at]! - ZERO
    if (digit < 0 || digit > 9) break
    value = value * 10 + digit
    at++
  }
  const digits = at - start
  if (digits > 1 && bytes[start] === ZERO) return TEXT
  measured.integerDigits = digits === 1 && value === 0 ? 0 : digits
  measured.scale = 0
  measured.room = SMALL
  if (at === to) {
    if (digits === 0) return TEXT
    if (negative && value === 0) return DOUBLE
    measured.room = room(bytes, start, digits, negative, value)
    return INTEGER
  }
  if (bytes[at] === POINT) {
    const fraction = at + 1
    at = afterDigits(bytes, fraction, to)
    measured.scale = at - fraction
    if (measured.scale === 0) return TEXT
    if (at === to) return measured.integerDigits + measured.scale <= maxPrecision ? DECIMAL : DOUBLE
  } else if (digits === 0) return TEXT
  // The digits of a number with an exponent say nothing about the room it needs.
  measured.integerDigits = 0
  measured.scale = 0
  return hasExponent(bytes, from, at, to) ? DOUBLE : TEXT
}

function afterDigits(bytes: Uint8Array, from: number, to: number): number {
  let at = from
  while (at < to && bytes[at]! >= ZERO && bytes[at]! <= ZERO + 9) at++
  return at
}

/** `value` is exact up to 15 digits and only looked at below that. */
function room(bytes: Uint8Array, start: number, digits: number, negative: boolean, value: number): number {
  if (digits <= 5 && value <= (negative ? 32768 : 32767)) return SMALL
  if (digits <= 10 && value <= (negative ? 2147483648 : 2147483647)) return MIDDLE
  if (digits < biggest.length) return BIG
  if (digits > biggest.length) return HUGE
  for (let i = 0; i < digits; i++) {
    const most = biggest[i]! + (negative && i === digits - 1 ? 1 : 0)
    if (bytes[start + i] !== most) return bytes[start + i]! < most ? BIG : HUGE
  }
  return BIG
}

/** `e5`, `E-05` to the end, and a number within the range of a double. */
function hasExponent(bytes: Uint8Array, from: number, at: number, to: number): boolean {
  if ((bytes[at]! | 32) !== 101) return false
  const signed = at + 1 < to && (bytes[at + 1] === MINUS || bytes[at + 1] === PLUS)
  const digits = signed ? at + 2 : at + 1
  if (digits === to || afterDigits(bytes, digits, to) !== to) return false
  // Two digits of exponent cannot leave the range, however many digits stand before them.
  if (to - digits <= 2) return true
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')
  const value = Number(text)
  // Warehouses refuse what overflows, and what becomes zero without being zero.
  return Number.isFinite(value) && (value !== 0 || /^[-.0]*e/i.test(text))
}
