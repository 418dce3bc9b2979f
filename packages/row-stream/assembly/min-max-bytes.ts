import { hasValueAt, MAX_KEY, MIN_KEY } from './column-state'
import { KEPT_BYTES } from './memory-layout'

/**
 * Returns the first eight bytes of a text as a number that sorts like the text. Shorter texts are padded with zeros.
 */
@inline function textKey(at: usize, length: i32): u64 {
  const first = bswap<u64>(load<u64>(at))
  return length >= 8 ? first : length == 0 ? 0 : first & (~(<u64>0) << <u64>(64 - length * 8))
}

/** Updates the minimum and maximum text. Compares only the first 64 bytes. */
@inline export function keepText(state: usize, at: usize, length: i32): void {
  const key = textKey(at, length)
  if (!hasValueAt(state)) {
    store<u8>(state, 1, 1)
    put(state, 0, key, at, length)
    put(state, 1, key, at, length)
    return
  }
  const least = load<u64>(state, MIN_KEY)
  const greatest = load<u64>(state, MAX_KEY)
  if (key < least || (key == least && compareTexts(state, 0, at, length) < 0)) put(state, 0, key, at, length)
  if (key > greatest || (key == greatest && compareTexts(state, 1, at, length) > 0)) put(state, 1, key, at, length)
}

/** Stores a text as the minimum (`which` 0) or maximum (`which` 1). */
function put(state: usize, which: usize, key: u64, at: usize, length: i32): void {
  store<u64>(state + which * 8, key, MIN_KEY)
  store<i32>(state + which * 4, length, 32)
  memory.copy(state + 72 + which * 64, at, <usize>min(length, KEPT_BYTES))
}

function compareTexts(state: usize, which: usize, at: usize, length: i32): i32 {
  const kept = min(load<i32>(state + which * 4, 32), KEPT_BYTES)
  const mine = min(length, KEPT_BYTES)
  const order = compareBytes(at, state + 72 + which * 64, min(kept, mine))
  return order != 0 ? order : mine - kept
}

/** Compares bytes, eight at a time. May read up to 7 bytes after the end of both. */
function compareBytes(one: usize, other: usize, length: i32): i32 {
  for (let left = length; left > 0; left -= 8) {
    let mine = bswap<u64>(load<u64>(one))
    let its = bswap<u64>(load<u64>(other))
    if (left < 8) {
      const shift = <u64>(64 - left * 8)
      mine >>>= shift
      its >>>= shift
    }
    if (mine != its) return mine < its ? -1 : 1
    one += 8
    other += 8
  }
  return 0
}

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

/** Updates the minimum and maximum numeric, in binary form. Numerics with equal keys are compared digit by digit. */
@inline export function keepNumeric(state: usize, at: usize, length: i32): void {
  const key = numericKey(at)
  if (!hasValueAt(state)) {
    store<u8>(state, 1, 1)
    put(state, 0, <u64>key, at, length)
    put(state, 1, <u64>key, at, length)
    return
  }
  const least = load<i64>(state, MIN_KEY)
  const greatest = load<i64>(state, MAX_KEY)
  if (key < least || (key == least && compareNumerics(state, 0, at, length) < 0)) put(state, 0, <u64>key, at, length)
  if (key > greatest || (key == greatest && compareNumerics(state, 1, at, length) > 0)) put(state, 1, <u64>key, at, length)
}

/** Compares the digits of two numerics with the same sign and weight. */
function compareNumerics(state: usize, which: usize, at: usize, length: i32): i32 {
  const kept = min(load<i32>(state + which * 4, 32), KEPT_BYTES) - 8
  const mine = min(length, KEPT_BYTES) - 8
  if (mine <= 4 && kept <= 4) return 0
  let order = compareBytes(at + 8, state + 80 + which * 64, min(kept, mine))
  if (order == 0) order = mine - kept
  return load<u16>(at, 4) == 0 ? order : -order
}

/** Counts UTF-8 characters: all bytes except continuation bytes. May read up to 15 bytes after the text. */
@inline export function characters(from: usize, bytes: i32): i32 {
  const continuation = i8x16.splat(-65)
  let count = 0
  let left = bytes
  for (; left > 16; left -= 16) {
    count += popcnt<i32>(i8x16.bitmask(i8x16.gt_s(v128.load(from), continuation)))
    from += 16
  }
  return count + popcnt<i32>(i8x16.bitmask(i8x16.gt_s(v128.load(from), continuation)) & ((1 << left) - 1))
}
