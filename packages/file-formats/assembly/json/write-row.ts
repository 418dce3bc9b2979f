import { KINDS, OUT, SEEN, VALUES } from './json-memory'
import { ABSENT_VALUE, ESCAPED_TEXT, NESTED_VALUE, PLAIN_VALUE, unfitColumn, width } from './read-object'
import { BACKSLASH, COMMA, QUOTE, unitAt } from './scan-value'

/**
 * Bits for the kinds of values in a column, as in src/json/json-columns.ts. A date is a text that starts like a date.
 */
const SEEN_PLAIN: u8 = 1
const SEEN_NESTED: u8 = 2
const SEEN_DATE: u8 = 4
const SEEN_TEXT: u8 = 8

/** Results of `writeRow`. IS_UNFIT: a value cannot be stored. */
export const WRITTEN: i32 = 0
export const BATCH_IS_FULL: i32 = 1
const IS_UNFIT: i32 = 2

/** The number of bytes of lines after which OUT is full. A longer line gets OUT for itself. */
const BATCH_BYTES: usize = 512 << 10

const LF: u8 = 10
const HYPHEN: u8 = 45

/** The position after the last written row in OUT. */
export let outEnd: usize = OUT

/** Empties OUT. The host (the calling JavaScript) calls it after it has copied the rows. */
export function emptyOut(): void {
  outEnd = OUT
}

/**
 * Writes the current object, which has `bytes` bytes, as a line of delimited text at the end of OUT. Quotes texts,
 * copies numbers and booleans unchanged, and leaves null and absent values empty.
 */
export function writeRow(bytes: usize): i32 {
  if (unfitColumn >= 0) return IS_UNFIT
  // Doubled quotes make a value at most twice as long. Each value additionally needs a comma and two quotes.
  const needed: usize = (bytes << 1) + <usize>(3 * width + 1)
  if (outEnd != OUT && outEnd + needed > OUT + BATCH_BYTES) return BATCH_IS_FULL
  let out = outEnd
  for (let column = 0; column < width; column++) {
    if (column > 0) out = put(out, COMMA)
    const kind = load<u8>(KINDS + <usize>column)
    if (kind == ABSENT_VALUE) continue
    const value = VALUES + <usize>column * 8
    const from = <usize>load<u32>(value)
    const to = <usize>load<u32>(value, 4)
    if (kind == PLAIN_VALUE) {
      see(column, SEEN_PLAIN)
      out = copy(out, from, to)
      continue
    }
    see(column, kind == NESTED_VALUE ? SEEN_NESTED : isDay(from, to) ? SEEN_DATE : SEEN_TEXT)
    out = put(out, QUOTE)
    if (kind == NESTED_VALUE) out = copyDoubled(out, from, to)
    else if (kind == ESCAPED_TEXT) out = copyUnescaped(out, from, to)
    else out = copy(out, from, to)
    out = put(out, QUOTE)
  }
  outEnd = put(out, LF)
  return WRITTEN
}

@inline function put(out: usize, byte: u8): usize {
  store<u8>(out, byte)
  return out + 1
}

@inline function see(column: i32, kind: u8): void {
  const seen = SEEN + <usize>column
  store<u8>(seen, load<u8>(seen) | kind)
}

function isDay(from: usize, to: usize): bool {
  const first = load<u8>(from)
  return to - from >= 10 && first >= 48 && first <= 57 && load<u8>(from, 4) == HYPHEN && load<u8>(from, 7) == HYPHEN
}

/** Copies bytes. Overwrites up to 15 bytes after their end in `out`. */
@inline function copy(out: usize, from: usize, to: usize): usize {
  const length = to - from
  if (length <= 64) for (let at: usize = 0; at < length; at += 16) v128.store(out + at, v128.load(from + at))
  else memory.copy(out, from, length)
  return out + length
}

/** Copies bytes and doubles their quotes. */
function copyDoubled(start: usize, from: usize, to: usize): usize {
  const quotes = i8x16.splat(QUOTE)
  let out = start
  let at = from
  while (at < to) {
    const block = v128.load(at)
    v128.store(out, block)
    const mask = i8x16.bitmask(i8x16.eq(block, quotes))
    const taken: usize = mask == 0 ? 16 : <usize>ctz(mask) + 1
    const left = to - at
    if (mask == 0 ? taken >= left : taken > left) return out + left
    at += taken
    out += taken
    if (mask != 0) out = put(out, QUOTE)
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
    const mask = i8x16.bitmask(i8x16.eq(block, backslashes))
    const taken: usize = mask == 0 ? 16 : <usize>ctz(mask)
    const left = to - at
    if (taken >= left) return out + left
    at += taken
    out += taken
    if (mask == 0) continue
    const character = load<u8>(at, 1)
    if (character != 117) {
      if (character == QUOTE) out = put(out, QUOTE)
      out = put(out, escapedByte(character))
      at += 2
      continue
    }
    let point = unitAt(at)
    at += 6
    if ((point & 0xfc00) == 0xd800) {
      point = 0x10000 + ((point & 0x3ff) << 10) + (unitAt(at) & 0x3ff)
      at += 6
    }
    out = putPoint(out, point)
  }
  return out
}

/** Returns the byte for a character after a backslash, such as LF for `n`. */
function escapedByte(character: u8): u8 {
  switch (character) {
    case 98:
      return 8
    case 102:
      return 12
    case 110:
      return 10
    case 114:
      return 13
    case 116:
      return 9
    default:
      return character
  }
}

/** Writes a character as UTF-8. */
function putPoint(out: usize, point: i32): usize {
  if (point < 0x80) {
    if (point == <i32>QUOTE) out = put(out, QUOTE)
    return put(out, <u8>point)
  }
  if (point < 0x800) return put(put(out, <u8>(0xc0 | (point >> 6))), continuation(point))
  if (point < 0x10000) {
    const first = put(out, <u8>(0xe0 | (point >> 12)))
    return put(put(first, continuation(point >> 6)), continuation(point))
  }
  const first = put(out, <u8>(0xf0 | (point >> 18)))
  return put(put(put(first, continuation(point >> 12)), continuation(point >> 6)), continuation(point))
}

@inline function continuation(bits: i32): u8 {
  return <u8>(0x80 | (bits & 63))
}
