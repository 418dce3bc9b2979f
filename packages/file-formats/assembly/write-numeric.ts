import { PLUS, MINUS, ZERO, LOWER_E } from './ascii'
import { widenDigits } from './column-state'
import { WITHOUT_EXPONENT, WITHOUT_EXPONENT_BYTES } from './memory-layout'
import { decimal, skipDigits } from './read-number'
import { recordDecimal } from './record-source-formats'
import { DOES_NOT_FIT } from './value-result-codes'

/** The maximum bytes of a number. A DECIMAL column has at most 38 digits. */
const MAX_TEXT_BYTES: usize = 400
/** The maximum number of digits of a column without a maximum. */
const UNLIMITED: i32 = 255

/** PostgreSQL's binary numeric has a header of four 16-bit integers, and then groups of four decimal digits. */
const HEADER_BYTES: usize = 8
const NEGATIVE_SIGN: i32 = 0x4000

@inline function isDigit(at: usize): bool {
  return <u32>load<u8>(at) - 48 <= 9
}

@inline function isSign(at: usize): bool {
  return load<u8>(at) == MINUS || load<u8>(at) == PLUS
}

@inline function storeInt16(at: usize, value: i32): void {
  store<u16>(at, bswap<u16>(<u16>value))
}

/**
 * Writes `[+-]digits[.digits]` as PostgreSQL's binary numeric. Returns the length, or DOES_NOT_FIT if the text is not
 * such a number or has more integer or decimal digits than the column allows. In a column with an inferred type, a
 * number that read-number.ts would not infer as a decimal does not fit either, and the column's state records the
 * numbers of digits. With `mayHaveExponent`, the text may also be `[+-]digits[.digits]e[+-]digits`.
 */
export function writeNumeric(
  out: usize, from: usize, to: usize, maxIntegerDigits: i32, maxScale: i32, inferred: bool, mayHaveExponent: bool,
  state: usize,
): i32 {
  if (to - from > MAX_TEXT_BYTES) return DOES_NOT_FIT
  const exponentSign = mayHaveExponent ? findExponentSign(from, to) : 0
  const hasExponent = exponentSign != 0
  if (!hasExponent) return writeWithoutExponent(out, from, to, maxIntegerDigits, maxScale, inferred, state)
  const end = removeExponent(from, exponentSign, to)
  if (end == NOT_A_NUMBER) return DOES_NOT_FIT
  return writeWithoutExponent(out, WITHOUT_EXPONENT, end, maxIntegerDigits, maxScale, false, state)
}

/** Returns the position of the exponent's `e` or `E`, or 0. */
function findExponentSign(from: usize, to: usize): usize {
  for (let at = from + 1; at < to; at++) if ((load<u8>(at) | 0x20) == LOWER_E) return at
  return 0
}

/** A result of `readExponent` that is larger than every exponent. */
const INVALID_EXPONENT: i32 = i32.MAX_VALUE

const MAX_EXPONENT: i32 = 9999

/** Reads `[+-]digits`. Returns INVALID_EXPONENT for other texts and exponents above MAX_EXPONENT. */
function readExponent(from: usize, to: usize): i32 {
  let at = from
  const isNegative = at < to && load<u8>(at) == MINUS
  if (at < to && isSign(at)) at++
  if (at == to) return INVALID_EXPONENT
  let exponent = 0
  for (; at < to; at++) {
    if (!isDigit(at)) return INVALID_EXPONENT
    exponent = exponent * 10 + <i32>load<u8>(at) - 48
    if (exponent > MAX_EXPONENT) return INVALID_EXPONENT
  }
  return isNegative ? -exponent : exponent
}

/** The result of `removeExponent` for other texts. */
const NOT_A_NUMBER: usize = 0

/**
 * Writes a number without its exponent to WITHOUT_EXPONENT: `1.5e3` becomes `1500`. `exponentSign` is the position of
 * the `e`. Returns the position after the written number. Returns NOT_A_NUMBER if the text is not `[+-]digits[.digits]`
 * with an exponent, or if the number becomes too long.
 */
function removeExponent(from: usize, exponentSign: usize, to: usize): usize {
  const exponent = readExponent(exponentSign + 1, to)
  if (exponent == INVALID_EXPONENT) return NOT_A_NUMBER
  const firstDigit = isSign(from) ? from + 1 : from
  const point = skipDigits(firstDigit, exponentSign)
  const hasPoint = point < exponentSign
  if (hasPoint && load<u8>(point) != decimal) return NOT_A_NUMBER
  const fraction = hasPoint ? point + 1 : point
  const hasEmptyFraction = hasPoint && fraction == exponentSign
  if (hasEmptyFraction || skipDigits(fraction, exponentSign) != exponentSign) return NOT_A_NUMBER
  const hasNoDigit = !hasPoint && point == firstDigit
  return hasNoDigit ? NOT_A_NUMBER : writeShifted(from, firstDigit, point, fraction, exponentSign, exponent)
}

/**
 * Writes a number to WITHOUT_EXPONENT with its decimal point `exponent` digits further right. The number has integer
 * digits from `firstDigit` to `point`, and decimal digits from `fraction` to `to`. Returns the position after the
 * written number, or NOT_A_NUMBER if it becomes too long.
 */
function writeShifted(
  from: usize, firstDigit: usize, point: usize, fraction: usize, to: usize, exponent: i32,
): usize {
  const integerDigits = <i32>(point - firstDigit)
  const digits = integerDigits + <i32>(to - fraction)
  // The digits of the number have the indexes 0 to `digits` - 1. The new point is before the index `newPoint`. If it is
  // outside these digits, zeros fill the gap, and one more zero is before a point at the start.
  const newPoint = integerDigits + exponent
  const first = newPoint < 1 ? newPoint - 1 : 0
  const end = max<i32>(newPoint, digits)
  const signAndPointBytes = 2
  if (<usize>(end - first) + signAndPointBytes >= WITHOUT_EXPONENT_BYTES) return NOT_A_NUMBER
  let out = WITHOUT_EXPONENT
  if (isSign(from)) store<u8>(out++, load<u8>(from))
  for (let index = first; index < end; index++) {
    if (index == newPoint) store<u8>(out++, decimal)
    const isFilledWithZero = index < 0 || index >= digits
    const source = index < integerDigits ? firstDigit + <usize>index : fraction + <usize>(index - integerDigits)
    store<u8>(out++, isFilledWithZero ? ZERO : load<u8>(source))
  }
  return out
}

/**
 * Writes `[+-]digits[.digits]` as a binary numeric, and records in the column's state how it is printed. Returns the
 * length, or DOES_NOT_FIT if the text is not such a number or has too many digits for the column.
 */
function writeWithoutExponent(
  out: usize, from: usize, to: usize, maxIntegerDigits: i32, maxScale: i32, inferred: bool, state: usize,
): i32 {
  const sign = load<u8>(from)
  const firstDigit = sign == MINUS || sign == PLUS ? from + 1 : from
  const point = skipDigits(firstDigit, to)
  const hasPoint = point < to
  if (hasPoint && load<u8>(point) != decimal) return DOES_NOT_FIT
  const fraction = hasPoint ? point + 1 : point
  const isComplete = hasPoint ? fraction < to && skipDigits(fraction, to) == to : point > firstDigit
  if (!isComplete) return DOES_NOT_FIT
  if (inferred && !isInferableNumber(sign, firstDigit, point, to)) return DOES_NOT_FIT
  let firstSignificant = firstDigit
  while (firstSignificant < point && load<u8>(firstSignificant) == ZERO) firstSignificant++
  const integerDigits = <i32>(point - firstSignificant)
  const scale = <i32>(to - fraction)
  if (!isWithin(integerDigits, maxIntegerDigits) || !isWithin(scale, maxScale)) return DOES_NOT_FIT
  if (inferred) widenDigits(state, integerDigits, scale)
  recordDecimal(state, sign, firstDigit, point, fraction, to)
  return writeBinaryNumeric(out, sign, firstSignificant, point, fraction, to)
}

@inline function isWithin(digits: i32, maxDigits: i32): bool {
  return maxDigits == UNLIMITED || digits <= maxDigits
}

/**
 * Writes a binary numeric with the integer digits from `firstSignificant` to `point` and the decimal digits from
 * `fraction` to `to`: the number of groups of four digits, the weight of the first group (a power of 10,000), the sign,
 * the number of decimal digits, the groups. Returns the length.
 */
@inline function writeBinaryNumeric(
  out: usize, sign: u8, firstSignificant: usize, point: usize, fraction: usize, to: usize,
): i32 {
  const groups = out + HEADER_BYTES
  let at = groups
  const integerDigits = <i32>(point - firstSignificant)
  let weight = (integerDigits + 3) / 4 - 1
  // Groups are counted from the decimal point, so the first one may have fewer digits.
  let groupDigits = integerDigits % 4
  for (let group = firstSignificant; group < point; ) {
    const groupEnd = group + <usize>(groupDigits == 0 ? 4 : groupDigits)
    storeInt16(at, parseGroup(group, groupEnd, point))
    at += 2
    group = groupEnd
    groupDigits = 0
  }
  for (let group = fraction; group < to; group += 4) {
    const value = parseGroup(group, group + 4, to)
    // Groups of zeros at the start are not written; they only lower the weight.
    if (value == 0 && at == groups) weight--
    else {
      storeInt16(at, value)
      at += 2
    }
  }
  while (at > groups && load<u16>(at - 2) == 0) at -= 2
  const count = <i32>(at - groups) / 2
  storeInt16(out, count)
  storeInt16(out + 2, count == 0 ? 0 : weight)
  storeInt16(out + 4, sign == MINUS && count > 0 ? NEGATIVE_SIGN : 0)
  storeInt16(out + 6, <i32>(to - fraction))
  return <i32>HEADER_BYTES + count * 2
}

/** True if a number has no plus and no leading zero, and is not `-0`, which would lose its sign. */
@inline function isInferableNumber(sign: u8, firstDigit: usize, point: usize, to: usize): bool {
  if (sign == PLUS) return false
  const startsWithZero = point > firstDigit && load<u8>(firstDigit) == ZERO
  if (!startsWithZero) return true
  const isNegativeZero = sign == MINUS && point == to
  return point - firstDigit == 1 && !isNegativeZero
}

/** Parses the digits from `from` to `to`. Digits from `end` on are zeros. */
@inline function parseGroup(from: usize, to: usize, end: usize): i32 {
  let value = 0
  for (let at = from; at < to; at++) value = value * 10 + (at < end ? <i32>load<u8>(at) - 48 : 0)
  return value
}
