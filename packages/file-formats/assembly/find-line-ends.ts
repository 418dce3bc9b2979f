/** Compares 64 bytes with `byte`. Returns a mask with a bit set for each equal byte. */
@inline export function equal(at: usize, wanted: v128): u64 {
  const a = <u64>i8x16.bitmask(i8x16.eq(v128.load(at), wanted))
  const b = <u64>i8x16.bitmask(i8x16.eq(v128.load(at, 16), wanted))
  const c = <u64>i8x16.bitmask(i8x16.eq(v128.load(at, 32), wanted))
  const d = <u64>i8x16.bitmask(i8x16.eq(v128.load(at, 48), wanted))
  return a | (b << 16) | (c << 32) | (d << 48)
}

/** Returns the prefix parity of a mask of quotes: sets the bits from each opening quote up to its closing quote. */
@inline export function parity(mask: u64): u64 {
  let bits = mask
  bits ^= bits << 1
  bits ^= bits << 2
  bits ^= bits << 4
  bits ^= bits << 8
  bits ^= bits << 16
  return bits ^ (bits << 32)
}

const LF: u8 = 10
const CR: u8 = 13

/** Returns a mask with a bit for each line end among 64 bytes. The LF of a CRLF has no bit. */
export function lineEnds(block: usize): u64 {
  const rowStreams = equal(block, i8x16.splat(LF))
  const returns = equal(block, i8x16.splat(CR))
  const before: u64 = load<u8>(block - 1) == CR ? 1 : 0
  return returns | (rowStreams & ~((returns << 1) | before))
}
