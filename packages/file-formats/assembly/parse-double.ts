import { POWERS } from './memory-layout'
import { decimal } from './parse-number'

const LEAST_POWER: i32 = -342
const GREATEST_POWER: i32 = 308
const UNSURE: u64 = ~(<u64>0)

/**
 * Calls the host (the calling JavaScript) for numbers that 128 bits cannot decide, and for numbers with more than 19
 * digits. Returns NaN if the text is not a number.
 */
@external('host', 'parseDouble')
declare function parseDouble(from: usize, length: i32): f64

/** Results of the last read number: its IEEE 754 bits, and its integer digits (0 if it has an exponent). */
export let bits: u64 = 0
export let plainDigits: i32 = 0

@inline function isDigit(byte: u8): bool {
  return <u32>byte - 48 <= 9
}

/**
 * Reads `[+-]digits[.digits][e[+-]digits]` as the nearest double. Returns false if the text is not a number or out of
 * range.
 */
export function readDouble(from: usize, to: usize): bool {
  let at = from
  const sign = load<u8>(at)
  if (sign == 45 || sign == 43) at++
  let mantissa: u64 = 0
  let significant = 0
  let power = 0
  const digitsFrom = at
  while (at < to && isDigit(load<u8>(at))) {
    mantissa = mantissa * 10 + <u64>(load<u8>(at) - 48)
    if (mantissa != 0) significant++
    at++
  }
  let digits = <i32>(at - digitsFrom)
  plainDigits = digits
  if (at < to && load<u8>(at) == decimal) {
    const fraction = ++at
    while (at < to && isDigit(load<u8>(at))) {
      mantissa = mantissa * 10 + <u64>(load<u8>(at) - 48)
      if (mantissa != 0) significant++
      at++
    }
    power = <i32>(fraction - at)
    if (power == 0) return false
    digits -= power
  }
  if (digits == 0) return false
  if (at < to) {
    if ((load<u8>(at) | 32) != 101) return false
    at++
    plainDigits = 0
    let negative = false
    if (at < to && (load<u8>(at) == 45 || load<u8>(at) == 43)) negative = load<u8>(at++) == 45
    const exponentFrom = at
    let exponent = 0
    while (at < to && isDigit(load<u8>(at))) {
      if (exponent < 100_000) exponent = exponent * 10 + <i32>(load<u8>(at) - 48)
      at++
    }
    if (at != to || at == exponentFrom) return false
    power += negative ? -exponent : exponent
  }
  let found = significant > 19 ? UNSURE : nearest(mantissa, power)
  if (found == UNSURE) {
    const exact = parseDouble(from, <i32>(to - from))
    if (isNaN(exact) || exact == Infinity || exact == -Infinity || (exact == 0 && significant != 0)) return false
    bits = reinterpret<u64>(exact)
    return true
  }
  bits = sign == 45 ? found | ((<u64>1) << 63) : found
  return true
}

/**
 * Returns the IEEE 754 bits, without the sign, of the double nearest to mantissa × 10^power, or UNSURE. Uses the
 * method of Eisel and Lemire ("Number parsing at a gigabyte per second", 2021): multiplies by a truncated power of
 * five, which nearly always suffices.
 */
function nearest(mantissa: u64, power: i32): u64 {
  if (mantissa == 0) return 0
  if (power < LEAST_POWER || power > GREATEST_POWER) return UNSURE
  const zeros = clz(mantissa)
  const normal = mantissa << zeros
  const entry = POWERS + (<usize>(power - LEAST_POWER) << 4)
  let low = normal * load<u64>(entry, 8)
  let high = highProduct(normal, load<u64>(entry, 8))
  if ((high & 0x1ff) == 0x1ff) {
    const more = highProduct(normal, load<u64>(entry))
    low += more
    if (more > low) high++
  }
  if (low == UNSURE && (power < -27 || power > 55)) return UNSURE
  const upper = high >>> 63
  const shift = upper + 9
  let fraction = high >>> shift
  let exponent = <i64>((217706 * power) >> 16) + 63 + <i64>upper - <i64>zeros + 1023
  // Subnormal or out of range. This is rare, so the host parses the number.
  if (exponent <= 0 || exponent >= 0x7fe) return UNSURE
  // Exactly between two doubles. IEEE 754 rounds to even, so the bit that would round up is removed.
  if (low <= 1 && power >= -4 && power <= 23 && (fraction & 3) == 1 && fraction << shift == high) fraction &= ~(<u64>1)
  fraction = (fraction + (fraction & 1)) >>> 1
  if (fraction >= (<u64>1) << 53) {
    fraction = (<u64>1) << 52
    exponent++
  }
  return (fraction & ~((<u64>1) << 52)) | (<u64>exponent << 52)
}

/** Returns the upper 64 bits of a 128-bit product. */
@inline function highProduct(a: u64, b: u64): u64 {
  const aLow = a & 0xffffffff
  const aHigh = a >>> 32
  const bLow = b & 0xffffffff
  const bHigh = b >>> 32
  const lowHigh = aLow * bHigh
  const highLow = aHigh * bLow
  const middle = ((aLow * bLow) >>> 32) + (lowHigh & 0xffffffff) + (highLow & 0xffffffff)
  return aHigh * bHigh + (lowHigh >>> 32) + (highLow >>> 32) + (middle >>> 32)
}
