/**
 * Converts the bits of a double to a key that sorts like the number. Both zeros are equal, and all NaN are equal, as in
 * PostgreSQL.
 */
@inline export function floatKey(bits: i64): i64 {
  const magnitude = bits & i64.MAX_VALUE
  if (magnitude == 0) return 0
  if (magnitude > INFINITY_KEY) return NAN_KEY
  // Inverts the magnitude of a negative number, so that a greater magnitude gives a smaller key.
  return bits ^ <i64>(<u64>(bits >> 63) >>> 1)
}

export const NAN_KEY: i64 = i64.MAX_VALUE
export const INFINITY_KEY: i64 = 0x7ff0000000000000
export const NEGATIVE_INFINITY_KEY: i64 = -0x7ff0000000000001

@inline export function doubleKey(at: usize): i64 {
  return floatKey(<i64>bswap<u64>(load<u64>(at)))
}

@inline export function realKey(at: usize): i64 {
  return floatKey(reinterpret<i64>(<f64>reinterpret<f32>(bswap<u32>(load<u32>(at)))))
}

@inline export function smallintKey(at: usize): i64 {
  return <i64><i16>bswap<u16>(load<u16>(at))
}

@inline export function integerKey(at: usize): i64 {
  return <i64><i32>bswap<u32>(load<u32>(at))
}

@inline export function bigintKey(at: usize): i64 {
  return <i64>bswap<u64>(load<u64>(at))
}

/** The sign fields of positive numbers, NaN, Infinity and -Infinity in PostgreSQL's numeric, as `load<u16>` reads them. */
export const NUMERIC_POSITIVE: u16 = 0
export const NUMERIC_NAN: u16 = 0x00c0
export const NUMERIC_INFINITY: u16 = 0x00d0
export const NUMERIC_NEGATIVE_INFINITY: u16 = 0x00f0

/** Returns the sign field of the binary numeric at `at`. */
@inline export function numericSign(at: usize): u16 { return load<u16>(at, 4) }

/** Returns whether a numeric with this sign field is finite. All others have the highest bit. */
@inline export function isFiniteSign(sign: u16): bool { return (sign & 0x80) == 0 }
