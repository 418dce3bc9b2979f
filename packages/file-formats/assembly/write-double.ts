import { PLUS, MINUS, ZERO } from './ascii'
import { doubleBits, integerDigitsWithoutExponent, readDouble } from './read-double'
import { DOES_NOT_FIT } from './value-result-codes'
import { looksLikeCode, MAX_NUMBER_BYTES } from './read-number'
import { DOUBLE_DIGITS } from './infer-column-type'

/**
 * Writes a number as the nearest double. Returns the length, or DOES_NOT_FIT. In a column with an inferred type, a
 * number does not fit if a double could lose some of its integer digits, or if read-number.ts would not infer a number
 * type from it.
 */
export function writeDouble(out: usize, from: usize, to: usize, inferred: bool): i32 {
  if (!readDouble(from, to) || (inferred && !isInferableNumber(from, to))) return DOES_NOT_FIT
  store<u64>(out, bswap<u64>(doubleBits))
  return 8
}

/**
 * Writes a number as a single-precision float, rounded from the nearest double. Returns the length, or DOES_NOT_FIT.
 */
export function writeReal(out: usize, from: usize, to: usize): i32 {
  if (!readDouble(from, to)) return DOES_NOT_FIT
  const value = reinterpret<f64>(doubleBits)
  const real = <f32>value
  const isOverflow = real == Infinity || real == -Infinity
  const isUnderflow = real == 0 && value != 0
  if (isOverflow || isUnderflow) return DOES_NOT_FIT
  store<u32>(out, bswap<u32>(reinterpret<u32>(real)))
  return 4
}

/** True if the type of a number is inferred as a number, and a double represents its integer digits exactly. */
function isInferableNumber(from: usize, to: usize): bool {
  const sign = load<u8>(from)
  if (sign == PLUS || <i32>(to - from) > MAX_NUMBER_BYTES || integerDigitsWithoutExponent > DOUBLE_DIGITS) return false
  const first = sign == MINUS ? from + 1 : from
  if (looksLikeCode(first, to)) return false
  const hasLeadingZero = load<u8>(first) == ZERO && first + 1 < to && <u32>load<u8>(first, 1) - 48 <= 9
  return !hasLeadingZero
}
