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
  const firstDigit = negative || sign == PLUS ? from + 1 : from
  if (inferred && !isInferableInteger(sign, firstDigit, to)) return DOES_NOT_FIT
  let at = firstDigit
  if (!inferred) while (to - at > MAX_DIGITS && load<u8>(at) == ZERO) at++
  if (at >= to || to - at > MAX_DIGITS) return DOES_NOT_FIT
  const digits = <i32>(to - at)
  let absoluteValue: u64 = 0
  for (; at < to; at++) {
    const digit = <u32>load<u8>(at) - 48
    if (digit > 9) return DOES_NOT_FIT
    absoluteValue = absoluteValue * 10 + <u64>digit
  }
  // The range of negative integers is larger by 1.
  if (absoluteValue > maxValueOf(type) + (negative ? 1 : 0)) return DOES_NOT_FIT
  if (!inferred) recordInteger(state, sign, firstDigit, to)
  else if (absoluteValue != 0) widenDigits(state, digits, 0)
  return storeInteger(out, negative ? -(<i64>absoluteValue) : <i64>absoluteValue, type)
}

/** True if a number has no plus and no leading zero, and is not `-0`. */
@inline function isInferableInteger(sign: u8, firstDigit: usize, to: usize): bool {
  if (sign == PLUS) return false
  const startsWithZero = load<u8>(firstDigit) == ZERO
  const hasOneDigit = to - firstDigit <= 1
  return !startsWithZero || (hasOneDigit && sign != MINUS)
}

@inline function maxValueOf(type: u8): u64 {
  if (type == AS_SMALLINT) return <u64>i16.MAX_VALUE
  return type == AS_INTEGER ? <u64>i32.MAX_VALUE : <u64>i64.MAX_VALUE
}

/** Stores an integer in big-endian order, in as many bytes as its type has. Returns their number. */
@inline function storeInteger(out: usize, value: i64, type: u8): i32 {
  if (type == AS_SMALLINT) {
    store<u16>(out, bswap<u16>(<u16>value))
    return 2
  }
  if (type == AS_INTEGER) {
    store<i32>(out, bswap<i32>(<i32>value))
    return 4
  }
  store<i64>(out, bswap<i64>(value))
  return 8
}
