import { BLOCK_BYTES, offsetOfFirst } from './byte-masks'
import { REJECTS_ROW } from './value-result-codes'

const QUOTE: u8 = 34

/** Copies a value. Returns its length. Overwrites up to 15 bytes after its end in `out`. */
@inline export function copyPlain(out: usize, from: usize, to: usize): i32 {
  const length = to - from
  if (length <= 64) for (let at: usize = 0; at < length; at += 16) v128.store(out + at, v128.load(from + at))
  else memory.copy(out, from, length)
  return <i32>length
}

/**
 * Copies a value, and replaces doubled quotes by single ones. Returns its new length. Copies 16 bytes at a time, and
 * continues after the first quote among them; so it overwrites up to 15 bytes after the copy.
 */
export function unescapeDoubledQuotes(out: usize, from: usize, to: usize): i32 {
  const quotes = i8x16.splat(QUOTE)
  let at = out
  while (from < to) {
    const block = v128.load(from)
    v128.store(at, block)
    const quoteOffset = offsetOfFirst(block, quotes)
    const hasQuote = quoteOffset < BLOCK_BYTES
    const keptBytes = hasQuote ? quoteOffset + 1 : BLOCK_BYTES
    const bytesLeft = to - from
    if (keptBytes >= bytesLeft) return <i32>(at + bytesLeft - out)
    at += keptBytes
    from += keptBytes
    // Leaves out the second one of two quotes.
    if (hasQuote) from++
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
