import { hasValueAt, MAX_KEY, MIN_BYTES, MIN_KEY, MIN_LENGTH, setHasValue } from './column-state'
import { STORED_BYTES } from './memory-layout'
import { NUMERIC_POSITIVE, numericSign } from './sort-keys'

/**
 * Returns the first eight bytes of a text as a number that sorts like the text. Shorter texts are padded with zeros.
 */
@inline function textKey(at: usize, length: i32): u64 {
  const first8Bytes = bswap<u64>(load<u64>(at))
  if (length >= 8) return first8Bytes
  if (length == 0) return 0
  return first8Bytes & (~(<u64>0) << <u64>(64 - length * 8))
}

/** Updates the minimum and maximum with a text. Compares only the first 64 bytes. */
@inline export function updateTextRange(state: usize, at: usize, length: i32): void {
  const key = textKey(at, length)
  if (!hasValueAt(state)) {
    setHasValue(state)
    storeExtreme(state, MINIMUM, key, at, length)
    storeExtreme(state, MAXIMUM, key, at, length)
    return
  }
  const minKey = load<u64>(state, MIN_KEY)
  const maxKey = load<u64>(state, MAX_KEY)
  const isLess = key < minKey || (key == minKey && compareTexts(state, MINIMUM, at, length) < 0)
  if (isLess) storeExtreme(state, MINIMUM, key, at, length)
  const isGreater = key > maxKey || (key == maxKey && compareTexts(state, MAXIMUM, at, length) > 0)
  if (isGreater) storeExtreme(state, MAXIMUM, key, at, length)
}

/** The values of `extreme`: the positions of the maximum in the state follow those of the minimum. */
const MINIMUM: usize = 0
const MAXIMUM: usize = 1

/** Stores a value as the minimum or maximum. */
function storeExtreme(state: usize, extreme: usize, key: u64, at: usize, length: i32): void {
  store<u64>(state + extreme * sizeof<u64>(), key, MIN_KEY)
  store<i32>(state + extreme * sizeof<i32>(), length, MIN_LENGTH)
  memory.copy(extremeBytes(state, extreme), at, <usize>min(length, STORED_BYTES))
}

/** Returns the address of the stored bytes of the minimum or maximum. */
@inline function extremeBytes(state: usize, extreme: usize): usize {
  return state + MIN_BYTES + extreme * <usize>STORED_BYTES
}

/** Returns the number of stored bytes of the minimum or maximum. */
@inline function extremeStoredLength(state: usize, extreme: usize): i32 {
  return min(load<i32>(state + extreme * sizeof<i32>(), MIN_LENGTH), STORED_BYTES)
}

/** Compares a text with the minimum or maximum. Returns a negative number, 0 or a positive number. */
function compareTexts(state: usize, extreme: usize, at: usize, length: i32): i32 {
  const storedLength = extremeStoredLength(state, extreme)
  const comparedLength = min(length, STORED_BYTES)
  const order = compareBytes(at, extremeBytes(state, extreme), min(storedLength, comparedLength))
  return order != 0 ? order : comparedLength - storedLength
}

/**
 * Compares two byte sequences of the same length, eight bytes at a time. Returns -1, 0 or 1. May read up to 7 bytes
 * after the end of both.
 */
function compareBytes(one: usize, other: usize, length: i32): i32 {
  for (let remaining = length; remaining > 0; remaining -= 8) {
    // In big-endian order, numbers compare like their bytes.
    let bytes = bswap<u64>(load<u64>(one))
    let otherBytes = bswap<u64>(load<u64>(other))
    if (remaining < 8) {
      const excessBits = <u64>(64 - remaining * 8)
      bytes >>>= excessBits
      otherBytes >>>= excessBits
    }
    if (bytes != otherBytes) return bytes < otherBytes ? -1 : 1
    one += 8
    other += 8
  }
  return 0
}

/** The bytes of a numeric before its groups of digits. */
const HEADER_BYTES: i32 = 8
/** The bytes of the groups of digits that a key always contains: two groups. */
const KEY_DIGIT_BYTES: i32 = 4

/**
 * Returns a key that sorts like PostgreSQL's numeric: the weight, then 47 bits of the base-10,000 digits; inverted for
 * negative numbers. The key of zero is between negative and positive keys.
 */
@inline function numericKey(at: usize): i64 {
  const digits = <i32>bswap<u16>(load<u16>(at))
  if (digits == 0) return 0
  const weight = <i64><i16>bswap<u16>(load<u16>(at, 2)) + 8192
  let leading = bswap<u64>(load<u64>(at, 8))
  leading &= digits >= 3 ? ~(<u64>0xffff) : ~(<u64>0) << <u64>(64 - digits * 16)
  const key = (weight << 47) | <i64>(leading >>> 17)
  return load<u16>(at, 4) == 0 ? key : -key
}

/** Updates the minimum and maximum with a binary numeric. Numerics with equal keys are compared digit by digit. */
@inline export function updateNumericRange(state: usize, at: usize, length: i32): void {
  const key = numericKey(at)
  if (!hasValueAt(state)) {
    setHasValue(state)
    storeExtreme(state, MINIMUM, <u64>key, at, length)
    storeExtreme(state, MAXIMUM, <u64>key, at, length)
    return
  }
  const minKey = load<i64>(state, MIN_KEY)
  const maxKey = load<i64>(state, MAX_KEY)
  const isLess = key < minKey || (key == minKey && compareNumerics(state, MINIMUM, at, length) < 0)
  if (isLess) storeExtreme(state, MINIMUM, <u64>key, at, length)
  const isGreater = key > maxKey || (key == maxKey && compareNumerics(state, MAXIMUM, at, length) > 0)
  if (isGreater) storeExtreme(state, MAXIMUM, <u64>key, at, length)
}

/**
 * Compares a numeric with the minimum or maximum, which has the same key and therefore the same sign and weight.
 * Returns a negative number, 0 or a positive number.
 */
function compareNumerics(state: usize, extreme: usize, at: usize, length: i32): i32 {
  const digitBytes = min(length, STORED_BYTES) - HEADER_BYTES
  const extremeDigitBytes = extremeStoredLength(state, extreme) - HEADER_BYTES
  const areAllDigitsInKeys = digitBytes <= KEY_DIGIT_BYTES && extremeDigitBytes <= KEY_DIGIT_BYTES
  if (areAllDigitsInKeys) return 0
  const digits = at + HEADER_BYTES
  const extremeDigits = extremeBytes(state, extreme) + HEADER_BYTES
  const orderOfDigits = compareBytes(digits, extremeDigits, min(digitBytes, extremeDigitBytes))
  const order = orderOfDigits != 0 ? orderOfDigits : digitBytes - extremeDigitBytes
  const isPositive = numericSign(at) == NUMERIC_POSITIVE
  return isPositive ? order : -order
}

/** Counts the characters of UTF-8 text: all bytes except continuation bytes. May read up to 15 bytes after the text. */
@inline export function countCharacters(from: usize, bytes: i32): i32 {
  // As signed numbers, continuation bytes are -128 to -65, and no other byte is so small.
  const continuation = i8x16.splat(-65)
  let count = 0
  let left = bytes
  for (; left > 16; left -= 16) {
    count += popcnt<i32>(i8x16.bitmask(i8x16.gt_s(v128.load(from), continuation)))
    from += 16
  }
  return count + popcnt<i32>(i8x16.bitmask(i8x16.gt_s(v128.load(from), continuation)) & ((1 << left) - 1))
}
