import { REFUSED } from './value-result-codes'

const QUOTE: u8 = 34

/** Copies a value unchanged. Overwrites up to 15 bytes after its end in `out`. */
@inline export function copyPlain(out: usize, from: usize, to: usize): i32 {
  const length = to - from
  if (length <= 64) for (let at: usize = 0; at < length; at += 16) v128.store(out + at, v128.load(from + at))
  else memory.copy(out, from, length)
  return <i32>length
}

/** Copies a value and replaces doubled quotes by single ones. */
export function copyDoubled(out: usize, from: usize, to: usize): i32 {
  const quotes = i8x16.splat(QUOTE)
  let at = out
  while (from < to) {
    const block = v128.load(from)
    v128.store(at, block)
    const mask = i8x16.bitmask(i8x16.eq(block, quotes))
    // Copies up to and including the first of two quotes, and leaves out the second.
    const taken: usize = mask == 0 ? 16 : <usize>ctz(mask) + 1
    const left = to - from
    if (taken >= left) return <i32>(at + left - out)
    at += taken
    from += mask == 0 ? taken : taken + 1
  }
  return <i32>(at - out)
}

/** Counts UTF-8 characters: all bytes except continuation bytes. */
export function characters(from: usize, bytes: i32): i32 {
  let count = 0
  for (let at = from; at < from + <usize>bytes; at++) if ((load<u8>(at) & 0xc0) != 0x80) count++
  return count
}

/**
 * Returns REFUSED if a text is longer than its column allows. `most` is the maximum in characters; 0 means no limit.
 */
@inline export function withinCharacters(out: usize, bytes: i32, most: i32): i32 {
  return bytes <= most || characters(out, bytes) <= most ? bytes : REFUSED
}
