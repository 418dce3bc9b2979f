import { KINDS, OUT, SEEN, VALUES } from './json-memory'
import { ABSENT_VALUE, ESCAPED_TEXT, NESTED_VALUE, PLAIN_VALUE, unstorableColumn, width } from './read-object'
import { BACKSLASH, COMMA, QUOTE, parseEscapedUnit } from './scan-value'

/**
 * Bits for the kinds of values in a column, as in src/json/json-columns.ts. SEEN_DATE: a text that starts like a date.
 */
const SEEN_PLAIN: u8 = 1
const SEEN_NESTED: u8 = 2
const SEEN_DATE: u8 = 4
const SEEN_TEXT: u8 = 8

/** Results of `writeRow`. BATCH_IS_FULL: nothing was written. VALUE_UNSTORABLE: a value cannot be stored. */
export const WRITTEN: i32 = 0
export const BATCH_IS_FULL: i32 = 1
const VALUE_UNSTORABLE: i32 = 2

/** The maximum bytes of the lines in OUT. A longer line has OUT for itself. */
const BATCH_BYTES: usize = 512 << 10

const BACKSPACE: u8 = 8
const TAB: u8 = 9
const LF: u8 = 10
const FORM_FEED: u8 = 12
const CR: u8 = 13
const HYPHEN: u8 = 45
const LOWER_B: u8 = 98
const LOWER_F: u8 = 102
const LOWER_N: u8 = 110
const LOWER_R: u8 = 114
const LOWER_T: u8 = 116
const LOWER_U: u8 = 117
/** The length of `\uXXXX`. */
const UNIT_BYTES: usize = 6

/** The position after the last written row in OUT. */
export let outEnd: usize = OUT

/** Empties OUT. The host (the calling JavaScript) calls it after it has copied the rows. */
export function clearOutput(): void {
  outEnd = OUT
}

/**
 * Adds the current object, which has `bytes` bytes, to OUT as a line of delimited text. Texts are quoted, numbers and
 * booleans are not, and null and absent values are empty.
 */
export function writeRow(bytes: usize): i32 {
  if (unstorableColumn >= 0) return VALUE_UNSTORABLE
  // Doubling its quotes makes a value at most twice as long. Each value also needs a comma and two quotes, the line an
  // LF.
  const maxLineBytes: usize = (bytes << 1) + <usize>(3 * width + 1)
  const isEmpty = outEnd == OUT
  if (!isEmpty && outEnd + maxLineBytes > OUT + BATCH_BYTES) return BATCH_IS_FULL
  let out = outEnd
  for (let column = 0; column < width; column++) {
    if (column > 0) out = put(out, COMMA)
    const kind = load<u8>(KINDS + <usize>column)
    if (kind == ABSENT_VALUE) continue
    const value = VALUES + <usize>column * 8
    const from = <usize>load<u32>(value)
    const to = <usize>load<u32>(value, 4)
    if (kind == PLAIN_VALUE) {
      addSeenKind(column, SEEN_PLAIN)
      out = copyBytes(out, from, to)
      continue
    }
    out = put(out, QUOTE)
    if (kind == NESTED_VALUE) {
      addSeenKind(column, SEEN_NESTED)
      out = copyDoublingQuotes(out, from, to)
    } else {
      addSeenKind(column, startsLikeDate(from, to) ? SEEN_DATE : SEEN_TEXT)
      out = kind == ESCAPED_TEXT ? copyUnescaped(out, from, to) : copyBytes(out, from, to)
    }
    out = put(out, QUOTE)
  }
  outEnd = put(out, LF)
  return WRITTEN
}

@inline function put(out: usize, byte: u8): usize {
  store<u8>(out, byte)
  return out + 1
}

@inline function addSeenKind(column: i32, kind: u8): void {
  const seen = SEEN + <usize>column
  store<u8>(seen, load<u8>(seen) | kind)
}

/** True for a text like `2024-05-01…`: it starts with a digit and has hyphens where such a date has them. */
function startsLikeDate(from: usize, to: usize): bool {
  const startsWithDigit = <u32>load<u8>(from) - 48 <= 9
  return to - from >= 10 && startsWithDigit && load<u8>(from, 4) == HYPHEN && load<u8>(from, 7) == HYPHEN
}

/** Copies bytes. Returns the position after them. Overwrites up to 15 bytes after their end in `out`. */
@inline function copyBytes(out: usize, from: usize, to: usize): usize {
  const length = to - from
  if (length <= 64) for (let at: usize = 0; at < length; at += 16) v128.store(out + at, v128.load(from + at))
  else memory.copy(out, from, length)
  return out + length
}

/** Copies bytes, and doubles each quote. Returns the position after them. */
function copyDoublingQuotes(start: usize, from: usize, to: usize): usize {
  const quotes = i8x16.splat(QUOTE)
  let out = start
  let at = from
  while (at < to) {
    const block = v128.load(at)
    v128.store(out, block)
    const quoteMask = i8x16.bitmask(i8x16.eq(block, quotes))
    const hasQuote = quoteMask != 0
    // Keeps the bytes up to and including the first quote.
    const keptBytes: usize = hasQuote ? <usize>ctz(quoteMask) + 1 : 16
    const bytesLeft = to - at
    // A quote that is found after the end does not count.
    if (keptBytes > bytesLeft || (keptBytes == bytesLeft && !hasQuote)) return out + bytesLeft
    at += keptBytes
    out += keptBytes
    if (hasQuote) out = put(out, QUOTE)
  }
  return out
}

/**
 * Unescapes the text of a valid JSON string, and writes it as UTF-8 with doubled quotes. Unescaping never makes the
 * text longer.
 */
function copyUnescaped(start: usize, from: usize, to: usize): usize {
  const backslashes = i8x16.splat(BACKSLASH)
  let out = start
  let at = from
  while (at < to) {
    const block = v128.load(at)
    v128.store(out, block)
    const backslashMask = i8x16.bitmask(i8x16.eq(block, backslashes))
    const hasBackslash = backslashMask != 0
    // Keeps the bytes before the first backslash.
    const keptBytes: usize = hasBackslash ? <usize>ctz(backslashMask) : 16
    const bytesLeft = to - at
    if (keptBytes >= bytesLeft) return out + bytesLeft
    at += keptBytes
    out += keptBytes
    if (!hasBackslash) continue
    const escapeCharacter = load<u8>(at, 1)
    if (escapeCharacter != LOWER_U) {
      if (escapeCharacter == QUOTE) out = put(out, QUOTE)
      out = put(out, escapedByte(escapeCharacter))
      at += 2
      continue
    }
    let codePoint = parseEscapedUnit(at)
    at += UNIT_BYTES
    const isHighSurrogate = (codePoint & 0xfc00) == 0xd800
    if (isHighSurrogate) {
      codePoint = 0x10000 + ((codePoint & 0x3ff) << 10) + (parseEscapedUnit(at) & 0x3ff)
      at += UNIT_BYTES
    }
    out = putCharacter(out, codePoint)
  }
  return out
}

/**
 * Returns the byte that an escape sequence stands for. `character` is the one after the backslash: `n` stands for LF.
 */
function escapedByte(character: u8): u8 {
  switch (character) {
    case LOWER_B:
      return BACKSPACE
    case LOWER_F:
      return FORM_FEED
    case LOWER_N:
      return LF
    case LOWER_R:
      return CR
    case LOWER_T:
      return TAB
    default:
      return character
  }
}

/** Writes a character as UTF-8. Doubles a quote. Returns the position after it. */
function putCharacter(out: usize, point: i32): usize {
  if (point < 0x80) {
    if (point == <i32>QUOTE) out = put(out, QUOTE)
    return put(out, <u8>point)
  }
  if (point < 0x800) return put(put(out, <u8>(0xc0 | (point >> 6))), continuationByte(point))
  if (point < 0x10000) {
    const first = put(out, <u8>(0xe0 | (point >> 12)))
    return put(put(first, continuationByte(point >> 6)), continuationByte(point))
  }
  const first = put(out, <u8>(0xf0 | (point >> 18)))
  return put(put(put(first, continuationByte(point >> 12)), continuationByte(point >> 6)), continuationByte(point))
}

/** Returns a continuation byte of UTF-8 with the lowest six bits. */
@inline function continuationByte(bits: i32): u8 {
  return <u8>(0x80 | (bits & 63))
}
