import { BLOCK_BYTES, offsetOfFirst } from '../byte-masks'
import { KINDS, OUT, SEEN, VALUES } from './json-memory'
import { ABSENT_VALUE, ESCAPED_TEXT, NESTED_VALUE, PLAIN_VALUE, unstorableColumn, width } from './read-object'
import { BACKSLASH, COMMA, QUOTE, isHighSurrogate, parseEscapedUnit } from './scan-value'

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
export const VALUE_UNSTORABLE: i32 = 2

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
/** The length of an escape such as `\n`, and of `\uXXXX`. */
const SHORT_ESCAPE_BYTES: usize = 2
const UNIT_BYTES: usize = 6

/** The position after the last written row in OUT. */
export let outEnd: usize = OUT

/** Empties OUT. The host (the calling JavaScript) calls it after it has copied the rows. */
export function clearOutput(): void {
  outEnd = OUT
}

/**
 * Appends the current object, which has `objectBytes` bytes, to OUT as a line of delimited text. Returns WRITTEN,
 * BATCH_IS_FULL or VALUE_UNSTORABLE.
 */
export function writeRow(objectBytes: usize): i32 {
  if (unstorableColumn >= 0) return VALUE_UNSTORABLE
  if (!hasOutputSpace(objectBytes)) return BATCH_IS_FULL
  let out = outEnd
  for (let column = 0; column < width; column++) {
    if (column > 0) out = put(out, COMMA)
    out = writeValue(out, column)
  }
  outEnd = put(out, LF)
  return WRITTEN
}

/** True if the line of an object with `objectBytes` bytes fits into OUT. The first line always fits. */
@inline function hasOutputSpace(objectBytes: usize): bool {
  if (outEnd == OUT) return true
  // A value becomes at most twice as long if its quotes are doubled. It also needs two quotes and a comma.
  const maxLineBytes = objectBytes * 2 + <usize>width * 3 + 1
  return outEnd + maxLineBytes <= OUT + BATCH_BYTES
}

/**
 * Writes the current object's value in a column, and adds its kind to those that the column has had. Texts and nested
 * values are quoted, numbers and booleans are not, and null and absent values are empty. Returns the position after it.
 */
@inline function writeValue(out: usize, column: i32): usize {
  const kind = load<u8>(KINDS + <usize>column)
  if (kind == ABSENT_VALUE) return out
  const from = valueStart(column)
  const to = valueEnd(column)
  if (kind == PLAIN_VALUE) {
    addSeenKind(column, SEEN_PLAIN)
    return copyBytes(out, from, to)
  }
  let textEnd = put(out, QUOTE)
  if (kind == NESTED_VALUE) {
    addSeenKind(column, SEEN_NESTED)
    textEnd = copyDoublingQuotes(textEnd, from, to)
  } else {
    addSeenKind(column, startsLikeDate(from, to) ? SEEN_DATE : SEEN_TEXT)
    textEnd = kind == ESCAPED_TEXT ? copyUnescaped(textEnd, from, to) : copyBytes(textEnd, from, to)
  }
  return put(textEnd, QUOTE)
}

// An entry of VALUES: the start of the value u32 @0, its end u32 @4.
const VALUE_ENTRY_BYTES: usize = 8

@inline function valueStart(column: i32): usize {
  return <usize>load<u32>(VALUES + <usize>column * VALUE_ENTRY_BYTES)
}

@inline function valueEnd(column: i32): usize {
  return <usize>load<u32>(VALUES + <usize>column * VALUE_ENTRY_BYTES, 4)
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

/**
 * Copies bytes, and doubles each quote. Returns the position after them. Copies 16 bytes at a time, and continues after
 * the first quote among them.
 */
function copyDoublingQuotes(start: usize, from: usize, to: usize): usize {
  const quotes = i8x16.splat(QUOTE)
  let out = start
  let at = from
  while (at < to) {
    const block = v128.load(at)
    v128.store(out, block)
    const bytesBeforeQuote = offsetOfFirst(block, quotes)
    const bytesLeft = to - at
    // A quote after `to` is not one of the bytes to copy.
    if (bytesBeforeQuote >= bytesLeft) return out + bytesLeft
    at += bytesBeforeQuote
    out += bytesBeforeQuote
    if (bytesBeforeQuote == BLOCK_BYTES) continue
    at++
    out = put(put(out, QUOTE), QUOTE)
  }
  return out
}

/**
 * Unescapes the text of a valid JSON string, and writes it as UTF-8 with doubled quotes. Returns the position after it.
 * Unescaping never makes the text longer. Copies 16 bytes at a time, and continues at the first backslash among them.
 */
function copyUnescaped(start: usize, from: usize, to: usize): usize {
  const backslashes = i8x16.splat(BACKSLASH)
  let out = start
  let at = from
  while (at < to) {
    const block = v128.load(at)
    v128.store(out, block)
    const bytesBeforeBackslash = offsetOfFirst(block, backslashes)
    const bytesLeft = to - at
    if (bytesBeforeBackslash >= bytesLeft) return out + bytesLeft
    at += bytesBeforeBackslash
    out += bytesBeforeBackslash
    if (bytesBeforeBackslash == BLOCK_BYTES) continue
    const escapeCharacter = load<u8>(at, 1)
    if (escapeCharacter != LOWER_U) {
      out = putCharacter(out, <i32>unescapedByte(escapeCharacter))
      at += SHORT_ESCAPE_BYTES
      continue
    }
    const unit = parseEscapedUnit(at)
    at += UNIT_BYTES
    if (isHighSurrogate(unit)) {
      out = putCharacter(out, codePointOfPair(unit, parseEscapedUnit(at)))
      at += UNIT_BYTES
    } else out = putCharacter(out, unit)
  }
  return out
}

/** Returns the code point of a surrogate pair, each half of which has ten of its bits. */
@inline function codePointOfPair(high: i32, low: i32): i32 {
  return 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff)
}

/**
 * Returns the byte that an escape sequence stands for. `character` is the one after the backslash: `n` stands for LF.
 */
function unescapedByte(character: u8): u8 {
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
