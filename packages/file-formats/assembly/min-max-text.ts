const KEPT: i32 = 64

/** Returns the first eight bytes of a text as a number with the order of the texts. Shorter texts are padded with zeros. */
@inline function textKey(at: usize, length: i32): u64 {
  const first = bswap<u64>(load<u64>(at))
  return length >= 8 ? first : length == 0 ? 0 : first & (~(<u64>0) << <u64>(64 - length * 8))
}

/** Keeps the minimum and maximum text by their first 64 bytes. */
@inline export function keepText(state: usize, at: usize, length: i32): void {
  const key = textKey(at, length)
  if (load<u8>(state, 13) == 0) {
    store<u8>(state, 1, 13)
    put(state, 0, key, at, length)
    put(state, 1, key, at, length)
    return
  }
  const least = load<u64>(state, 16)
  const greatest = load<u64>(state, 24)
  if (key < least || (key == least && compareTexts(state, 0, at, length) < 0)) put(state, 0, key, at, length)
  if (key > greatest || (key == greatest && compareTexts(state, 1, at, length) > 0)) put(state, 1, key, at, length)
}

/** Stores a text as the minimum (`which` 0) or the maximum (`which` 1). */
function put(state: usize, which: usize, key: u64, at: usize, length: i32): void {
  store<u64>(state + which * 8, key, 16)
  store<i32>(state + which * 4, length, 32)
  memory.copy(state + 40 + which * 64, at, <usize>min(length, KEPT))
}

function compareTexts(state: usize, which: usize, at: usize, length: i32): i32 {
  const kept = min(load<i32>(state + which * 4, 32), KEPT)
  const mine = min(length, KEPT)
  const order = memory.compare(at, state + 40 + which * 64, <usize>min(kept, mine))
  return order != 0 ? order : mine - kept
}

/**
 * Returns a key with the order of numerics, up to three digits of base 10,000: weight, then digits, inverted for negative numbers. The
 * key of zero is between both.
 */
@inline function numericKey(at: usize): i64 {
  const digits = <i32>bswap<u16>(load<u16>(at))
  if (digits == 0) return 0
  const weight = <i64><i16>bswap<u16>(load<u16>(at, 2)) + 8192
  let leading = bswap<u64>(load<u64>(at, 8))
  leading &= digits >= 3 ? ~(<u64>0xffff) : ~(<u64>0) << <u64>(64 - digits * 16)
  const key = (weight << 48) | <i64>(leading >>> 16)
  return load<u16>(at, 4) == 0 ? key : -key
}

/** Keeps the minimum and maximum numeric in binary form. Numerics with equal keys are compared digit by digit. */
@inline export function keepNumeric(state: usize, at: usize, length: i32): void {
  const key = numericKey(at)
  if (load<u8>(state, 13) == 0) {
    store<u8>(state, 1, 13)
    put(state, 0, <u64>key, at, length)
    put(state, 1, <u64>key, at, length)
    return
  }
  const least = load<i64>(state, 16)
  const greatest = load<i64>(state, 24)
  if (key < least || (key == least && compareNumerics(state, 0, at, length) < 0)) put(state, 0, <u64>key, at, length)
  if (key > greatest || (key == greatest && compareNumerics(state, 1, at, length) > 0)) put(state, 1, <u64>key, at, length)
}

/** Compares the digits of two numerics with the same sign and weight. */
function compareNumerics(state: usize, which: usize, at: usize, length: i32): i32 {
  const kept = min(load<i32>(state + which * 4, 32), KEPT) - 8
  const mine = min(length, KEPT) - 8
  if (mine <= 6 && kept <= 6) return 0
  let order = memory.compare(at + 8, state + 48 + which * 64, <usize>min(kept, mine))
  if (order == 0) order = mine - kept
  return load<u16>(at, 4) == 0 ? order : -order
}
