import { REJECTS_ROW } from './value-result-codes'

const QUOTE: u8 = 34

/** Copies a value. Returns its length. Overwrites up to 15 bytes after its end in `out`. */
@inline export function copyPlain(out: usize, from: usize, to: usize): i32 {
  const length = to - from
  if (length <= 64) for (let at: usize = 0; at < length; at += 16) v128.store(out + at, v128.load(from + at))
  else memory.copy(out, from, length)
  return <i32>length
}

/** Copies a value, and replaces doubled quotes by single ones. Returns its new length. */
export function copyUndoubled(out: usize, from: usize, to: usize): i32 {
  const quotes = i8x16.splat(QUOTE)
  let at = out
  while (from < to) {
    const block = v128.load(from)
    v128.store(at, block)
    const quoteMask = i8x16.bitmask(i8x16.eq(block, quotes))
    const hasQuote = quoteMask != 0
    // Keeps the bytes up to and including the first of two quotes, and skips the second one.
    const keptBytes: usize = hasQuote ? <usize>ctz(quoteMask) + 1 : 16
    const bytesLeft = to - from
    if (keptBytes >= bytesLeft) return <i32>(at + bytesLeft - out)
    at += keptBytes
    from += hasQuote ? keptBytes + 1 : keptBytes
  }
  return <i32>(at - out)
}

/** Counts the characters of UTF-8 text: all bytes except continuation bytes. */
export function countCharacters(from: usize, bytes: i32): i32 {
  let count = 0
  for (let at = from; at < from + <usize>bytes; at++) if ((load<u8>(at) & 0xc0) != 0x80) count++
  return count
}

/** Returns the length of a text in bytes, or REJECTS_ROW if it has more than `maxCharacters` characters. */
@inline export function limitCharacters(text: usize, bytes: i32, maxCharacters: i32): i32 {
  return bytes <= maxCharacters || countCharacters(text, bytes) <= maxCharacters ? bytes : REJECTS_ROW
}
