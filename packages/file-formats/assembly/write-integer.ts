import { PLUS, MINUS, ZERO } from './ascii'
import { AS_INTEGER, AS_SMALLINT, widenDigits } from './column-state'
import { recordInteger } from './record-source-formats'
import { DOES_NOT_FIT } from './value-result-codes'

/** The digits of the largest 64-bit integer. */
const MAX_DIGITS: usize = 19

/**
 * Writes `[+-]digits` as an integer of type `type`. Returns the length, or DOES_NOT_FIT. In a column with an inferred
 * type, a plus, leading zeros and `-0` do not fit, as read-number.ts describes, and the state of the column records the
 * number of digits. In a column with a declared type, the state records how the integer is printed.
 */
export function writeInteger(out: usize, from: usize, to: usize, type: u8, inferred: bool, state: usize): i32 {
  const sign = load<u8>(from)
  const negative = sign == MINUS
  let at = negative || sign == PLUS ? from + 1 : from
  const firstDigit = at
  if (inferred) {
    const hasLeadingZero = load<u8>(at) == ZERO && to - at > 1
    const isNegativeZero = load<u8>(at) == ZERO && negative
    if (sign == PLUS || hasLeadingZero || isNegativeZero) return DOES_NOT_FIT
  } else {
    while (to - at > MAX_DIGITS && load<u8>(at) == ZERO) at++
  }
  if (at >= to || to - at > MAX_DIGITS) return DOES_NOT_FIT
  const digits = <i32>(to - at)
  let value: u64 = 0
  for (; at < to; at++) {
    const digit = <u32>load<u8>(at) - 48
    if (digit > 9) return DOES_NOT_FIT
    value = value * 10 + <u64>digit
  }
  let maxValue: u64 = <u64>i64.MAX_VALUE
  if (type == AS_SMALLINT) maxValue = <u64>i16.MAX_VALUE
  else if (type == AS_INTEGER) maxValue = <u64>i32.MAX_VALUE
  // The smallest negative integer is larger by 1 without its sign.
  if (value > maxValue + (negative ? 1 : 0)) return DOES_NOT_FIT
  if (!inferred) recordInteger(state, sign, firstDigit, to)
  else if (value != 0) widenDigits(state, digits, 0)
  const signed = negative ? -(<i64>value) : <i64>value
  if (type == AS_SMALLINT) {
    store<u16>(out, bswap<u16>(<u16>signed))
    return 2
  }
  if (type == AS_INTEGER) {
    store<i32>(out, bswap<i32>(<i32>signed))
    return 4
  }
  store<i64>(out, bswap<i64>(signed))
  return 8
}
