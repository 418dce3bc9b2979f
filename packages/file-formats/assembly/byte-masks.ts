/** The bytes that one instruction compares. */
export const BLOCK_BYTES: usize = 16

/**
 * Returns the offset of the first byte in a block of 16 bytes that is the wanted one, or BLOCK_BYTES. All bytes of
 * `wanted` are the byte.
 */
@inline export function offsetOfFirst(block: v128, wanted: v128): usize {
  const mask = i8x16.bitmask(i8x16.eq(block, wanted))
  return mask == 0 ? BLOCK_BYTES : <usize>ctz(mask)
}

/**
 * Searches a byte in a block of 64 bytes. Returns a mask with a bit for each occurrence. All bytes of `wanted` are the
 * byte.
 */
@inline export function findByte(at: usize, wanted: v128): u64 {
  const a = <u64>i8x16.bitmask(i8x16.eq(v128.load(at), wanted))
  const b = <u64>i8x16.bitmask(i8x16.eq(v128.load(at, 16), wanted))
  const c = <u64>i8x16.bitmask(i8x16.eq(v128.load(at, 32), wanted))
  const d = <u64>i8x16.bitmask(i8x16.eq(v128.load(at, 48), wanted))
  return a | (b << 16) | (c << 32) | (d << 48)
}

/**
 * Returns a mask with the bits from each opening quote to before its closing quote: the prefix parity of the quotes.
 */
@inline export function quotedRanges(mask: u64): u64 {
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
export function findLineEnds(block: usize): u64 {
  const lineFeeds = findByte(block, i8x16.splat(LF))
  const returns = findByte(block, i8x16.splat(CR))
  const crBeforeBlock: u64 = load<u8>(block - 1) == CR ? 1 : 0
  return returns | (lineFeeds & ~((returns << 1) | crBeforeBlock))
}
