/*
 * Records how the written values of a column are printed in the text, for src/delimited/source-formats. State of a column: marks u16 @16,
 * date spellings u8 @18, width of integers with leading zeros u8 @22, 20 minus the digits of the shortest other integer u8 @20, digits
 * after the point + 1 u8 @21, text of the time zone u64 @24. All are 0 before the first value.
 */

/** At least one value was written. Not set for inferred integers, because an integer is printed in only one format. */
const VALUE: u32 = 1
/** A value has a format that no pattern describes: a plus, a zero with a minus, leading zeros of several widths. */
const OTHER: u32 = 2

/** Decimals and fractions of seconds: different numbers of digits after the point, and a zero at the end. */
const MIXED_SCALE: u32 = 4
const TRAILING_ZERO: u32 = 8
/** Decimals: `.5`, and `0.5`. */
const BARE_POINT: u32 = 16
const ZERO_POINT: u32 = 32

/** Times: values without a time of day, with `T` or a space before it, without and with seconds, and with different zones. */
const DATE_ONLY: u32 = 64
const T_BETWEEN: u32 = 128
const SPACE_BETWEEN: u32 = 256
const NO_SECONDS: u32 = 512
const SECONDS: u32 = 1024
const MIXED_ZONES: u32 = 2048

/** Booleans: all pairs of words, and words that are not in small letters, not in capitals, and not with one capital. */
const ALL_PAIRS: u32 = 0x7e
const NOT_LOWER: u32 = 0x80
const NOT_UPPER: u32 = 0x100
const NOT_TITLE: u32 = 0x200

/** The largest number of digits that is recorded. */
const MOST_DIGITS: i32 = 200
const MOST_INTEGER_DIGITS: i32 = 19

/** Adds marks, and date spellings in the upper half. */
@inline function mark(state: usize, marks: u32): void {
  const before = load<u32>(state, 16)
  const after = before | marks
  if (after != before) store<u32>(state, after, 16)
}

/** Returns MIXED_SCALE if earlier values have another number of digits after the point. */
@inline function scaleMark(state: usize, scale: i32): u32 {
  const before = <i32>load<u8>(state, 21)
  if (before == scale + 1) return 0
  if (before != 0) return MIXED_SCALE
  store<u8>(state, <u8>(scale + 1), 21)
  return 0
}

/** Records an integer with digits from `digits` to `to`. */
export function recordInteger(state: usize, sign: u8, digits: usize, to: usize): void {
  const count = <i32>(to - digits)
  const isPadded = count > 1 && load<u8>(digits) == 48
  const isSignedZero = sign == 45 && load<u8>(digits) == 48
  if (sign == 43 || isSignedZero || count > MOST_INTEGER_DIGITS) return mark(state, VALUE | OTHER)
  mark(state, VALUE)
  if (!isPadded) {
    if (20 - count > <i32>load<u8>(state, 20)) store<u8>(state, <u8>(20 - count), 20)
    return
  }
  const before = <i32>load<u8>(state, 22)
  if (before == 0) store<u8>(state, <u8>count, 22)
  else if (before != count) mark(state, OTHER)
}

/** Records a decimal with digits from `digits` to `point`, and from `fraction` to `to`. */
@inline export function recordDecimal(state: usize, sign: u8, digits: usize, point: usize, fraction: usize, to: usize): void {
  const scale = <i32>(to - fraction)
  let marks = VALUE
  // Most numbers begin with another digit than zero.
  if (sign == 43 || <u32>load<u8>(digits) - 49 > 8 || scale > MOST_DIGITS) marks |= unusualMarks(sign, digits, point, scale, to)
  if (scale > 0 && load<u8>(to - 1) == 48) marks |= TRAILING_ZERO
  mark(state, marks | scaleMark(state, scale))
}

function unusualMarks(sign: u8, digits: usize, point: usize, scale: i32, to: usize): u32 {
  if (sign == 43 || scale > MOST_DIGITS || point - digits > 1 || (sign == 45 && isZero(digits, to))) return OTHER
  return point == digits ? BARE_POINT : scale > 0 ? ZERO_POINT : 0
}

/** Whether a number without a sign has no other digit than zero. The decimal sign comes before the digits in ASCII. */
function isZero(from: usize, to: usize): bool {
  for (let at = from; at < to; at++) if (load<u8>(at) > 48) return false
  return true
}

/** Records a date without a time of day. */
@inline export function recordDate(state: usize, spelled: u8): void {
  mark(state, VALUE | DATE_ONLY | (<u32>spelled << 16))
}

/**
 * Records a date with a time of day, from the separator at `time` to `zone`. The text of the zone ends at `to`; it has at most six bytes,
 * and none for times without a zone.
 */
export function recordTime(state: usize, spelled: u8, time: usize, zone: usize, to: usize): void {
  let marks = VALUE | (<u32>spelled << 16) | (load<u8>(time) == 32 ? SPACE_BETWEEN : T_BETWEEN)
  // `T12:30` has six bytes, `T12:30:45` nine, and a fraction begins with a point.
  const seconds = <i32>(zone - time) - 9
  const scale = seconds > 0 ? seconds - 1 : 0
  marks |= seconds < 0 ? NO_SECONDS : SECONDS
  if (scale > 0 && load<u8>(zone - 1) == 48) marks |= TRAILING_ZERO
  marks |= scaleMark(state, scale)
  const text = load<u64>(zone) & (((<u64>1) << (<u64>(to - zone) * 8)) - 1)
  const isFirst = (load<u32>(state, 16) & (T_BETWEEN | SPACE_BETWEEN)) == 0
  if (isFirst) store<u64>(state, text, 24)
  else if (load<u64>(state, 24) != text) marks |= MIXED_ZONES
  mark(state, marks)
}

/**
 * Records a boolean: the index of its pair of words (true, t, yes, y, on, 1), the number of its letters, and bit 5 of each byte of a capital.
 * The marks 2 to 0x40 exclude pairs.
 */
@inline export function recordBoolean(state: usize, pair: i32, length: i32, capitals: u64): void {
  const marks = VALUE | (ALL_PAIRS & ~((<u32>2) << pair))
  // Digits have no capitals, but fit everywhere.
  mark(state, pair == 5 ? marks : marks | (capitals == 0 ? NOT_UPPER | NOT_TITLE : capitalMarks(length, capitals)))
}

function capitalMarks(length: i32, capitals: u64): u32 {
  const areAll = popcnt<u64>(capitals) == length
  const isTitle = capitals == 0x20
  return NOT_LOWER | (areAll ? 0 : NOT_UPPER) | (isTitle ? 0 : NOT_TITLE)
}
