import { bits, plainDigits, readDouble } from './parse-double'
import { UNFIT } from './value-result-codes'
import { isCode, LONGEST_NUMBER } from './parse-number'
import { DOUBLE_DIGITS } from './column-type'

const PLUS: u8 = 43
const MINUS: u8 = 45
const ZERO: u8 = 48

/**
 * Writes a number as the nearest double. In a column with an inferred type, a value does not fit if a double may lose
 * some of its integer digits, or if parse-number.ts does not infer a number from its spelling.
 */
export function writeDouble(out: usize, from: usize, to: usize, inferred: bool): i32 {
  if (!readDouble(from, to) || (inferred && !isInferableNumber(from, to))) return UNFIT
  store<u64>(out, bswap<u64>(bits))
  return 8
}

/** Writes a number as a single-precision float, rounded from the nearest double. */
export function writeReal(out: usize, from: usize, to: usize): i32 {
  if (!readDouble(from, to)) return UNFIT
  const value = reinterpret<f64>(bits)
  const real = <f32>value
  if (real == Infinity || real == -Infinity || (real == 0 && value != 0)) return UNFIT
  store<u32>(out, bswap<u32>(reinterpret<u32>(real)))
  return 4
}

function isInferableNumber(from: usize, to: usize): bool {
  const sign = load<u8>(from)
  if (sign == PLUS || <i32>(to - from) > LONGEST_NUMBER || plainDigits > DOUBLE_DIGITS) return false
  const first = sign == MINUS ? from + 1 : from
  if (isCode(first, to)) return false
  return load<u8>(first) != ZERO || first + 1 >= to || <u32>load<u8>(first, 1) - 48 > 9
}
