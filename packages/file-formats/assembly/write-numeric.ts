import { PLUS, MINUS, ZERO, LOWER_E } from './ascii'
import { widenDigits } from './column-state'
import { WITHOUT_EXPONENT, WITHOUT_EXPONENT_BYTES } from './memory-layout'
import { decimal } from './read-number'
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
 * numbers of digits. With `mayHaveExponent`, the number may have an exponent: doubles are written so to a column that
 * is numeric in the table.
 */
export function writeNumeric(
  out: usize, from: usize, to: usize, maxIntegerDigits: i32, maxScale: i32, inferred: bool, mayHaveExponent: bool,
  state: usize,
): i32 {
  if (to - from > MAX_TEXT_BYTES) return DOES_NOT_FIT
  const exponent = mayHaveExponent ? findExponent(from, to) : 0
  if (exponent == 0) return writeWithoutExponent(out, from, to, maxIntegerDigits, maxScale, inferred, state)
  const end = removeExponent(from, exponent, to)
  if (end == 0) return DOES_NOT_FIT
  return writeWithoutExponent(out, WITHOUT_EXPONENT, end, maxIntegerDigits, maxScale, false, state)
}

/** Returns the position of the exponent's `e` or `E`, or 0. */
function findExponent(from: usize, to: usize): usize {
  for (let at = from + 1; at < to; at++) if ((load<u8>(at) | 0x20) == LOWER_E) return at
  return 0
}

/** A result of `readExponent` that is larger than every exponent. */
const INVALID_EXPONENT: i32 = i32.MAX_VALUE

/** Reads `[+-]digits`, up to the exponent 9999. */
function readExponent(from: usize, to: usize): i32 {
  let at = from
  const isNegative = at < to && load<u8>(at) == MINUS
  if (at < to && isSign(at)) at++
  if (at == to) return INVALID_EXPONENT
  let exponent = 0
  for (; at < to; at++) {
    if (!isDigit(at) || exponent > 999) return INVALID_EXPONENT
    exponent = exponent * 10 + <i32>load<u8>(at) - 48
  }
  return isNegative ? -exponent : exponent
}

/**
 * Writes a number without its exponent to WITHOUT_EXPONENT: `1.5e3` becomes `1500`. `exponentSign` is the position of
 * the `e`. Returns the position after the number. Returns 0 if the text is not `[+-]digits[.digits]` with an exponent,
 * or if the number becomes too long.
 */
function removeExponent(from: usize, exponentSign: usize, to: usize): usize {
  const exponent = readExponent(exponentSign + 1, to)
  if (exponent == INVALID_EXPONENT) return 0
  const hasSign = isSign(from)
  const firstDigit = hasSign ? from + 1 : from
  let point = firstDigit
  while (point < exponentSign && isDigit(point)) point++
  const hasPoint = point < exponentSign
  const fraction = hasPoint ? point + 1 : point
  if (hasPoint && (load<u8>(point) != decimal || fraction == exponentSign)) return 0
  for (let at = fraction; at < exponentSign; at++) if (!isDigit(at)) return 0
  const integerDigits = <i32>(point - firstDigit)
  const digits = integerDigits + <i32>(exponentSign - fraction)
  if (digits == 0) return 0
  // The digits are numbered from 0 in the text. The new point is before digit `newPoint`. Digits that the text does not
  // have are zeros: those before digit 0, with one before the point, and those up to the point.
  const newPoint = integerDigits + exponent
  const first = newPoint < 1 ? newPoint - 1 : 0
  const end = max<i32>(newPoint, digits)
  // A sign and a point may be added.
  if (<usize>(end - first) + 3 > WITHOUT_EXPONENT_BYTES) return 0
  let out = WITHOUT_EXPONENT
  if (hasSign) store<u8>(out++, load<u8>(from))
  for (let digit = first; digit < end; digit++) {
    if (digit == newPoint) store<u8>(out++, decimal)
    const isInText = digit >= 0 && digit < digits
    const source = digit < integerDigits ? firstDigit + <usize>digit : fraction + <usize>(digit - integerDigits)
    store<u8>(out++, isInText ? load<u8>(source) : ZERO)
  }
  return out
}

/**
 * Writes a number without an exponent as a binary numeric, and records in the column's state how it is printed. Returns
 * the length, or DOES_NOT_FIT.
 */
function writeWithoutExponent(
  out: usize, from: usize, to: usize, maxIntegerDigits: i32, maxScale: i32, inferred: bool, state: usize,
): i32 {
  const sign = load<u8>(from)
  const firstDigit = sign == MINUS || sign == PLUS ? from + 1 : from
  let point = firstDigit
  while (point < to && isDigit(point)) point++
  let fraction = point
  if (point < to) {
    if (load<u8>(point) != decimal) return DOES_NOT_FIT
    fraction = point + 1
    let end = fraction
    while (end < to && isDigit(end)) end++
    if (end != to || end == fraction) return DOES_NOT_FIT
  } else if (point == firstDigit) return DOES_NOT_FIT
  if (inferred && !isInferableNumber(sign, firstDigit, point, to)) return DOES_NOT_FIT
  let firstSignificant = firstDigit
  while (firstSignificant < point && load<u8>(firstSignificant) == ZERO) firstSignificant++
  const integerDigits = <i32>(point - firstSignificant)
  const scale = <i32>(to - fraction)
  if (maxIntegerDigits != UNLIMITED && integerDigits > maxIntegerDigits) return DOES_NOT_FIT
  if (maxScale != UNLIMITED && scale > maxScale) return DOES_NOT_FIT
  if (inferred) widenDigits(state, integerDigits, scale)
  recordDecimal(state, sign, firstDigit, point, fraction, to)
  return writeBinaryNumeric(out, sign, firstSignificant, point, fraction, to)
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
