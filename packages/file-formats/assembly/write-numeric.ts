import { widenDigits } from './column-state'
import { EXPANDED, EXPANDED_BYTES } from './memory-layout'
import { decimal } from './parse-number'
import { recordDecimal } from './source-formats'
import { UNFIT } from './value-result-codes'

/** The maximum characters of a number without an exponent. A DECIMAL column has at most 38 digits. */
const LONGEST: usize = 400
/** The number of digits of a column without a limit. */
const ANY: i32 = 255

@inline function isDigit(at: usize): bool {
  return <u32>load<u8>(at) - 48 <= 9
}

@inline function put(at: usize, value: i32): void {
  store<u16>(at, bswap<u16>(<u16>value))
}

/**
 * Writes `[+-]digits[.digits]` as PostgreSQL's binary numeric: the count of base-10,000 digits, the weight of the
 * first, the sign, the scale, the digits. Returns the length, or UNFIT, also if the number has more integer or decimal
 * digits than the column allows. In a column with an inferred type, the spelling must be as described in
 * parse-number.ts, and the column's state records the numbers of digits. With `exponents`, the number may have an
 * exponent: this is for doubles in a table with a column that was numeric before.
 */
export function writeNumeric(out: usize, from: usize, to: usize, most: i32, maxScale: i32, inferred: bool, exponents: bool, state: usize): i32 {
  if (to - from > LONGEST) return UNFIT
  const exponent = exponents ? exponentAt(from, to) : 0
  if (exponent == 0) return writePlain(out, from, to, most, maxScale, inferred, state)
  const end = expand(from, exponent, to)
  return end == 0 ? UNFIT : writePlain(out, EXPANDED, end, most, maxScale, false, state)
}

/** Returns the position of the exponent's `e` or `E`, or 0. */
function exponentAt(from: usize, to: usize): usize {
  for (let at = from + 1; at < to; at++) if ((load<u8>(at) | 32) == 101) return at
  return 0
}

/**
 * Rewrites a number without its exponent as `digits.digits` in EXPANDED. Returns the position after it, or 0 if the
 * value is not `[+-]digits[.digits]` with an exponent, or is too long.
 */
function expand(from: usize, exponent: usize, to: usize): usize {
  let power = 0
  let at = exponent + 1
  const minus = at < to && load<u8>(at) == 45
  if (at < to && (minus || load<u8>(at) == 43)) at++
  if (at == to) return 0
  for (; at < to; at++) {
    if (!isDigit(at) || power > 999) return 0
    power = power * 10 + <i32>load<u8>(at) - 48
  }
  if (minus) power = -power
  const signed = load<u8>(from) == 45 || load<u8>(from) == 43
  const whole = signed ? from + 1 : from
  let point = whole
  while (point < exponent && isDigit(point)) point++
  const fraction = point < exponent ? point + 1 : point
  if (point < exponent && (load<u8>(point) != decimal || fraction == exponent)) return 0
  for (let place = fraction; place < exponent; place++) if (!isDigit(place)) return 0
  const before = <i32>(point - whole)
  const count = before + <i32>(exponent - fraction)
  if (count == 0) return 0
  // The number of integer digits after applying the exponent. Missing digits are zeros.
  const wanted = before + power
  const first = wanted < 1 ? wanted - 1 : 0
  const last = wanted > count ? wanted : count
  if (<usize>(last - first) + 3 > EXPANDED_BYTES) return 0
  let out = EXPANDED
  if (signed) store<u8>(out++, load<u8>(from))
  for (let index = first; index < last; index++) {
    if (index == wanted) store<u8>(out++, decimal)
    const inside = index >= 0 && index < count
    const source = index < before ? whole + <usize>index : fraction + <usize>(index - before)
    store<u8>(out++, inside ? load<u8>(source) : 48)
  }
  return out
}

/**
 * Writes a number without an exponent as a PostgreSQL numeric, and records in the column's state how it is printed. Returns its bytes, or
 * UNFIT if it needs a wider or another type.
 */
function writePlain(out: usize, from: usize, to: usize, most: i32, maxScale: i32, inferred: bool, state: usize): i32 {
  const sign = load<u8>(from)
  let whole = sign == 45 || sign == 43 ? from + 1 : from
  let point = whole
  while (point < to && isDigit(point)) point++
  let fraction = point
  if (point < to) {
    if (load<u8>(point) != decimal) return UNFIT
    fraction = point + 1
    let end = fraction
    while (end < to && isDigit(end)) end++
    if (end != to || end == fraction) return UNFIT
  } else if (point == whole) return UNFIT
  if (inferred && !isInferableNumber(sign, whole, point, to)) return UNFIT
  const first = whole
  while (whole < point && load<u8>(whole) == 48) whole++
  if ((most != ANY && <i32>(point - whole) > most) || (maxScale != ANY && <i32>(to - fraction) > maxScale)) return UNFIT
  if (inferred) widenDigits(state, <i32>(point - whole), <i32>(to - fraction))
  recordDecimal(state, sign, first, point, fraction, to)

  let at = out + 8
  let weight = (<i32>(point - whole) + 3) / 4 - 1
  // Groups of four digits, counted from the decimal point. The first group may have fewer.
  let size = <i32>(point - whole) % 4
  for (let group = whole; group < point; ) {
    const end = group + <usize>(size == 0 ? 4 : size)
    put(at, digits(group, end, point))
    at += 2
    group = end
    size = 0
  }
  for (let group = fraction; group < to; group += 4) {
    const value = digits(group, group + 4, to)
    // Leading zeros are not written; they only change the weight.
    if (value == 0 && at == out + 8) weight--
    else {
      put(at, value)
      at += 2
    }
  }
  while (at > out + 8 && load<u16>(at - 2) == 0) at -= 2
  const count = <i32>(at - out - 8) / 2
  put(out, count)
  put(out + 2, count == 0 ? 0 : weight)
  put(out + 4, sign == 45 && count > 0 ? 0x4000 : 0)
  put(out + 6, <i32>(to - fraction))
  return 8 + count * 2
}

/** True if a number has no plus and no leading zero, and is not `-0`, which would lose its sign. */
@inline function isInferableNumber(sign: u8, whole: usize, point: usize, to: usize): bool {
  if (sign == 43) return false
  return point == whole || load<u8>(whole) != 48 || (point - whole == 1 && (point < to || sign != 45))
}

/** Reads four decimal digits. Positions from `last` on count as zeros. */
@inline function digits(from: usize, to: usize, last: usize): i32 {
  let value = 0
  for (let at = from; at < to; at++) value = value * 10 + (at < last ? <i32>load<u8>(at) - 48 : 0)
  return value
}
