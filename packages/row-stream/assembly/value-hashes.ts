/** Odd numbers with an irregular pattern of bits. */
const MULTIPLIER_1: u64 = 0x9e3779b97f4a7c15
const MULTIPLIER_2: u64 = 0xd6e8feb86659fd93

@inline export function hashNumber(value: i64): u64 {
  let hash = <u64>value * MULTIPLIER_1
  hash ^= hash >>> 32
  hash *= MULTIPLIER_2
  return hash ^ (hash >>> 32)
}

/** Hashes a value's bytes. May read up to 8 bytes after the value. */
@inline export function hashBytes(at: usize, length: i32): u64 {
  let hash: u64 = <u64>length * MULTIPLIER_2
  let left = length
  if (left > 16) {
    // Two independent sums take no longer than one, because the processor computes them in parallel.
    let other: u64 = MULTIPLIER_1
    for (; left > 16; left -= 16) {
      hash = (hash ^ load<u64>(at)) * MULTIPLIER_1
      other = (other ^ load<u64>(at, 8)) * MULTIPLIER_2
      hash ^= hash >>> 29
      other ^= other >>> 31
      at += 16
    }
    hash ^= other
  }
  for (; left > 8; left -= 8) {
    hash = (hash ^ load<u64>(at)) * MULTIPLIER_1
    hash ^= hash >>> 29
    at += 8
  }
  const tail = left <= 0 ? 0 : load<u64>(at) << <u64>(64 - left * 8)
  hash = (hash ^ tail) * MULTIPLIER_1
  hash ^= hash >>> 32
  hash *= MULTIPLIER_2
  return hash ^ (hash >>> 32)
}

/**
 * The bytes of a piece. Longer texts are hashed piece by piece, so that a text has the same hash if its pieces arrive
 * one by one.
 */
export const PIECE_BYTES: i32 = 0x10000

/** Combines the hash of a piece with the hash of the preceding pieces. */
@inline export function chainHashes(before: u64, piece: u64): u64 {
  return hashNumber(<i64>(before ^ (piece + MULTIPLIER_1 + (before << 6) + (before >>> 2))))
}

@inline export function hashText(at: usize, length: i32): u64 {
  return length <= PIECE_BYTES ? hashBytes(at, length) : hashPieces(at, length)
}

function hashPieces(at: usize, length: i32): u64 {
  let hash: u64 = 0
  for (let from = 0; from < length; from += PIECE_BYTES)
    hash = chainHashes(hash, hashBytes(at + <usize>from, min(length - from, PIECE_BYTES)))
  return hash
}

/** Hashes a numeric without its scale (at offset 6), because 1.5 and 1.50 are the same number. */
@inline export function hashNumeric(at: usize, length: i32): u64 {
  // The number of groups and the weight, combined with the sign.
  const head = load<u32>(at) ^ (<u32>load<u16>(at, 4) << 7)
  return hashBytes(at + 8, length - 8) ^ hashNumber(<i64>head)
}
