import { PLUS, MINUS, LOWER_E } from './ascii'
import { POWERS } from './memory-layout'
import { decimal } from './read-number'

const SIGN_BIT: u64 = (<u64>1) << 63

/** The powers of ten in POWERS. */
const MIN_POWER: i32 = -342
const MAX_POWER: i32 = 308
/** The bytes of each power in POWERS: its lower 64 bits, then its upper 64 bits. */
const POWER_BYTES: usize = 16
/** Means that 128 bits do not suffice to find the nearest double. */
const UNDECIDED: u64 = ~(<u64>0)

/**
 * Lets the host (the calling JavaScript) parse a number that `nearestDoubleBits` cannot, or that has more than 19
 * digits. Returns NaN if the text is not a number.
 */
@external('host', 'parseDouble')
declare function parseDouble(from: usize, length: i32): f64

/** The IEEE 754 bits of the last read number. */
export let doubleBits: u64 = 0
/** The number of integer digits of the last read number. 0 if it has an exponent. */
export let integerDigitsWithoutExponent: i32 = 0

@inline function isDigit(byte: u8): bool {
  return <u32>byte - 48 <= 9
}

/**
 * Reads `[+-]digits[.digits][e[+-]digits]` as the nearest double. Sets `doubleBits` and `integerDigitsWithoutExponent`.
 * Returns false if the text is not a number or out of range.
 */
export function readDouble(from: usize, to: usize): bool {
  let at = from
  const sign = load<u8>(at)
  if (sign == MINUS || sign == PLUS) at++
  let mantissa: u64 = 0
  let significantDigits = 0
  let power = 0
  const firstDigit = at
  while (at < to && isDigit(load<u8>(at))) {
    mantissa = mantissa * 10 + <u64>(load<u8>(at) - 48)
    if (mantissa != 0) significantDigits++
    at++
  }
  let digits = <i32>(at - firstDigit)
  integerDigitsWithoutExponent = digits
  if (at < to && load<u8>(at) == decimal) {
    const fraction = ++at
    while (at < to && isDigit(load<u8>(at))) {
      mantissa = mantissa * 10 + <u64>(load<u8>(at) - 48)
      if (mantissa != 0) significantDigits++
      at++
    }
    power = <i32>(fraction - at)
    if (power == 0) return false
    digits -= power
  }
  if (digits == 0) return false
  if (at < to) {
    if ((load<u8>(at) | 0x20) != LOWER_E) return false
    at++
    integerDigitsWithoutExponent = 0
    let isNegativeExponent = false
    if (at < to && (load<u8>(at) == MINUS || load<u8>(at) == PLUS)) isNegativeExponent = load<u8>(at++) == MINUS
    const firstExponentDigit = at
    let exponent = 0
    while (at < to && isDigit(load<u8>(at))) {
      if (exponent < 100_000) exponent = exponent * 10 + <i32>(load<u8>(at) - 48)
      at++
    }
    if (at != to || at == firstExponentDigit) return false
    power += isNegativeExponent ? -exponent : exponent
  }
  // More than 19 digits overflow the mantissa.
  const unsignedBits = significantDigits > 19 ? UNDECIDED : nearestDoubleBits(mantissa, power)
  if (unsignedBits == UNDECIDED) {
    const value = parseDouble(from, <i32>(to - from))
    const isUnderflow = value == 0 && significantDigits != 0
    if (isNaN(value) || value == Infinity || value == -Infinity || isUnderflow) return false
    doubleBits = reinterpret<u64>(value)
    return true
  }
  doubleBits = sign == MINUS ? unsignedBits | SIGN_BIT : unsignedBits
  return true
}

/** The bits of a double: one for the sign, 11 for the exponent, 52 for the fraction after an implied leading 1. */
const FRACTION_BITS: u64 = 52
const IMPLIED_ONE: u64 = (<u64>1) << FRACTION_BITS
const EXPONENT_BIAS: i64 = 1023
const MAX_EXPONENT: i64 = 0x7fe

/**
 * Returns the IEEE 754 bits of the double nearest to mantissa × 10^power, without its sign, or UNDECIDED. Uses the
 * method of Eisel and Lemire ("Number parsing at a gigabyte per second", 2021): multiplies by a truncated power of
 * five, which nearly always suffices.
 */
function nearestDoubleBits(mantissa: u64, power: i32): u64 {
  if (mantissa == 0) return 0
  if (power < MIN_POWER || power > MAX_POWER) return UNDECIDED
  const leadingZeros = clz(mantissa)
  const normalized = mantissa << leadingZeros

  // Step 1: the 128-bit product with the power of five. Its lower half `low` is needed only for rounding.
  const powerOfFive = POWERS + <usize>(power - MIN_POWER) * POWER_BYTES
  const upperHalfOfPower = load<u64>(powerOfFive, 8)
  const lowerHalfOfPower = load<u64>(powerOfFive)
  let low = normalized * upperHalfOfPower
  let high = highProduct(normalized, upperHalfOfPower)
  // Only if the bits below the fraction are all set, a carry from the lower half of the power could change the result.
  const canCarryChangeResult = (high & 0x1ff) == 0x1ff
  if (canCarryChangeResult) {
    const lowerProduct = highProduct(normalized, lowerHalfOfPower)
    low += lowerProduct
    const hasCarry = lowerProduct > low
    if (hasCarry) high++
  }
  // Powers from -27 to 55 are exact, so the product is too.
  const isPowerExact = power >= -27 && power <= 55
  if (low == UNDECIDED && !isPowerExact) return UNDECIDED

  // Step 2: the exponent, and the highest 54 bits: one more than a double has, for rounding.
  const highestBit = high >>> 63
  const shift = highestBit + 9
  let fraction = high >>> shift
  // 217706 / 2^16 approximates the binary logarithm of 10.
  const binaryExponent = <i64>((217706 * power) >> 16) + 63 + <i64>highestBit - <i64>leadingZeros
  let exponent = binaryExponent + EXPONENT_BIAS
  // The host parses the rare numbers that are subnormal or out of range.
  if (exponent <= 0 || exponent >= MAX_EXPONENT) return UNDECIDED

  // Step 3: rounds to 53 bits. Exactly between two doubles, IEEE 754 rounds to even, so the lowest bit, which would
  // round up, is removed. Only these powers can give such a number.
  const mayBeHalfway = low <= 1 && power >= -4 && power <= 23
  if (mayBeHalfway && (fraction & 3) == 1 && fraction << shift == high) fraction &= ~(<u64>1)
  fraction = (fraction + (fraction & 1)) >>> 1
  const hasRoundedTo54Bits = fraction >= IMPLIED_ONE << 1
  if (hasRoundedTo54Bits) {
    fraction = IMPLIED_ONE
    exponent++
  }
  return (fraction & ~IMPLIED_ONE) | (<u64>exponent << FRACTION_BITS)
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
