import { MAX_DEPTH, OPEN } from './json-memory'

/** Results of a scan instead of a position: the available bytes end too early, or they are not valid JSON. */
export const ENDS_EARLY: i32 = -1
export const INVALID_JSON: i32 = -2

/**
 * Bits of `marks`. HAS_NUL: U+0000. HAS_LONE_SURROGATE: half a surrogate pair. HAS_HUGE_NUMBER: a number that JSONB
 * cannot store.
 */
export const HAS_ESCAPE: i32 = 1
export const HAS_NUL: i32 = 2
export const HAS_LONE_SURROGATE: i32 = 4
export const HAS_HUGE_NUMBER: i32 = 8

/** Codes of syntax errors, in the order of `faultTexts` in src/json/wasm-json.ts. */
export const KEY_EXPECTED: i32 = 0
export const KEY_NOT_UTF8: i32 = 1
export const COMMA_OR_BRACE_EXPECTED: i32 = 2
export const COMMA_OR_BRACKET_EXPECTED: i32 = 3
const COLON_EXPECTED: i32 = 4
const VALUE_EXPECTED: i32 = 5
const TOO_DEEP: i32 = 6
const CONTROL_CHARACTER: i32 = 7
const BAD_ESCAPE: i32 = 8
const BAD_NUMBER: i32 = 9

export const QUOTE: u8 = 34
export const COMMA: u8 = 44
export const BACKSLASH: u8 = 92
export const OPEN_ARRAY: u8 = 91
export const OPEN_OBJECT: u8 = 123
const COLON: u8 = 58
const LOWER_U: u8 = 117

/** The maximum length of a number in JSONB. PostgreSQL stores at most 16,383 digits after the decimal point. */
const LONGEST_NUMBER: usize = 16_000

/** The combined marks of all values scanned since `clearMarks`. */
export let marks: i32 = 0
/** After INVALID_JSON: the code of the syntax error and its position. */
export let fault: i32 = 0
export let faultAt: usize = 0

export function clearMarks(): void {
  marks = 0
}

export function broken(why: i32, at: usize): i32 {
  fault = why
  faultAt = at
  return INVALID_JSON
}

@inline export function afterSpace(from: usize, end: usize): usize {
  let at = from
  while (at < end) {
    const byte = load<u8>(at)
    if (byte > 32 || (byte != 32 && byte != 10 && byte != 13 && byte != 9)) break
    at++
  }
  return at
}

/**
 * Scans a value (strict RFC 8259) after optional white space. Returns the position after it, ENDS_EARLY or
 * INVALID_JSON.
 */
export function scanValue(from: usize, end: usize): i32 {
  let depth = 0
  let at = from
  while (true) {
    at = afterSpace(at, end)
    if (at >= end) return ENDS_EARLY
    const byte = load<u8>(at)
    let next: i32
    if (byte == QUOTE) next = scanString(at, end)
    else if (byte == OPEN_OBJECT || byte == OPEN_ARRAY) {
      if (depth == MAX_DEPTH) return broken(TOO_DEEP, at)
      store<u8>(OPEN + <usize>depth, byte)
      depth++
      at = afterSpace(at + 1, end)
      if (at >= end) return ENDS_EARLY
      // In ASCII, the code of a closing bracket is the code of its opening bracket plus two.
      if (load<u8>(at) != byte + 2) {
        if (byte == OPEN_ARRAY) continue
        next = scanKey(at, end)
        if (next < 0) return next
        at = <usize>next
        continue
      }
      depth--
      next = <i32>at + 1
    } else next = scanPlain(at, end)
    if (next < 0) return next
    at = <usize>next
    for (;;) {
      if (depth == 0) return <i32>at
      at = afterSpace(at, end)
      if (at >= end) return ENDS_EARLY
      const opened = load<u8>(OPEN + <usize>(depth - 1))
      const after = load<u8>(at)
      if (after == COMMA) {
        at++
        if (opened == OPEN_ARRAY) break
        next = scanKey(afterSpace(at, end), end)
        if (next < 0) return next
        at = <usize>next
        break
      }
      if (after != opened + 2) return broken(opened == OPEN_OBJECT ? COMMA_OR_BRACE_EXPECTED : COMMA_OR_BRACKET_EXPECTED, at)
      depth--
      at++
    }
  }
}

/** Scans a key and the colon after it. */
export function scanKey(from: usize, end: usize): i32 {
  if (from >= end) return ENDS_EARLY
  if (load<u8>(from) != QUOTE) return broken(KEY_EXPECTED, from)
  const closed = scanString(from, end)
  return closed < 0 ? closed : scanColon(<usize>closed, end)
}

export function scanColon(from: usize, end: usize): i32 {
  const at = afterSpace(from, end)
  if (at >= end) return ENDS_EARLY
  return load<u8>(at) == COLON ? <i32>at + 1 : broken(COLON_EXPECTED, at)
}

/** Scans a string that starts with its opening quote at `from`. */
export function scanString(from: usize, end: usize): i32 {
  const quotes = i8x16.splat(QUOTE)
  const backslashes = i8x16.splat(BACKSLASH)
  const spaces = i8x16.splat(32)
  let at = from + 1
  while (at < end) {
    const block = v128.load(at)
    const special = v128.or(v128.or(i8x16.eq(block, quotes), i8x16.eq(block, backslashes)), i8x16.lt_u(block, spaces))
    const bits = i8x16.bitmask(special)
    if (bits == 0) {
      at += 16
      continue
    }
    at += <usize>ctz(bits)
    if (at >= end) break
    const byte = load<u8>(at)
    if (byte == QUOTE) return <i32>at + 1
    if (byte != BACKSLASH) return broken(CONTROL_CHARACTER, at)
    marks |= HAS_ESCAPE
    const after = scanEscape(at, end)
    if (after < 0) return after
    at = <usize>after
  }
  return ENDS_EARLY
}

/** Scans an escape sequence: a backslash and what follows it, or both halves of a surrogate pair. */
function scanEscape(from: usize, end: usize): i32 {
  if (from + 1 >= end) return ENDS_EARLY
  const character = load<u8>(from, 1)
  if (character != LOWER_U) return isEscapeCharacter(character) ? <i32>from + 2 : broken(BAD_ESCAPE, from)
  const unit = scanUnit(from, end)
  if (unit < 0) return unit
  if (unit == 0) marks |= HAS_NUL
  if ((unit & 0xf800) != 0xd800) return <i32>from + 6
  if (unit < 0xdc00) {
    if (from + 8 > end) return ENDS_EARLY
    if (load<u8>(from, 6) == BACKSLASH && load<u8>(from, 7) == LOWER_U) {
      const low = scanUnit(from + 6, end)
      if (low < 0) return low
      if ((low & 0xfc00) == 0xdc00) return <i32>from + 12
    }
  }
  marks |= HAS_LONE_SURROGATE
  return <i32>from + 6
}

/** True if the character can follow a backslash: one of `"\/bfnrt`. */
@inline function isEscapeCharacter(character: u8): bool {
  return character == QUOTE || character == BACKSLASH || character == 47 || character == 98 || character == 102 || character == 110 ||
    character == 114 || character == 116
}

/** Scans `\uXXXX`. Returns its code unit, ENDS_EARLY or INVALID_JSON. */
function scanUnit(from: usize, end: usize): i32 {
  if (from + 6 > end) return ENDS_EARLY
  const unit = unitAt(from)
  return unit < 0 ? broken(BAD_ESCAPE, from) : unit
}

/** Parses `\uXXXX`. Returns its code unit, or -1. */
export function unitAt(from: usize): i32 {
  let unit = 0
  for (let at = from + 2; at < from + 6; at++) {
    const byte = load<u8>(at)
    const character = byte | 32
    const digit = isDigit(byte) ? <i32>byte - 48 : character >= 97 && character <= 102 ? <i32>character - 87 : -1
    if (digit < 0) return -1
    unit = (unit << 4) | digit
  }
  return unit
}

@inline function isDigit(byte: u8): bool {
  return byte >= 48 && byte <= 57
}

/** Scans a number, `true`, `false` or `null`. */
@inline export function scanPlain(from: usize, end: usize): i32 {
  const byte = load<u8>(from)
  if (byte == 45 || isDigit(byte)) return scanNumber(from, end)
  return scanWord(from, end)
}

function scanWord(from: usize, end: usize): i32 {
  const byte = load<u8>(from)
  const isFalse = byte == 102
  // The first four bytes of `true`, `false` and `null` as little-endian integers.
  const word: u32 = byte == 116 ? 0x65757274 : isFalse ? 0x736c6166 : byte == 110 ? 0x6c6c756e : 0
  const length: usize = isFalse ? 5 : 4
  if (word == 0) return broken(VALUE_EXPECTED, from)
  for (let i: usize = 1; i < length; i++) {
    if (from + i >= end) return ENDS_EARLY
    if (load<u8>(from + i) != (i == 4 ? 101 : <u8>(word >> (<u32>i * 8)))) return broken(VALUE_EXPECTED, from)
  }
  return <i32>(from + length)
}

/** Scans a number. More text must follow the number, because it could otherwise have further digits. */
function scanNumber(from: usize, end: usize): i32 {
  let at = load<u8>(from) == 45 ? from + 1 : from
  const first = at
  at = afterDigits(at, end)
  if (at == end) return ENDS_EARLY
  if (at == first || (load<u8>(first) == 48 && at - first > 1)) return broken(BAD_NUMBER, from)
  if (load<u8>(at) == 46) {
    const fraction = ++at
    at = afterDigits(at, end)
    if (at == end) return ENDS_EARLY
    if (at == fraction) return broken(BAD_NUMBER, from)
  }
  let power: usize = 0
  if ((load<u8>(at) | 32) == 101) {
    at++
    if (at < end && (load<u8>(at) == 43 || load<u8>(at) == 45)) at++
    const exponent = at
    at = afterDigits(at, end)
    if (at >= end) return ENDS_EARLY
    if (at == exponent) return broken(BAD_NUMBER, from)
    if (at - exponent > 4) marks |= HAS_HUGE_NUMBER
    else for (let i = exponent; i < at; i++) power = power * 10 + <usize>(load<u8>(i) - 48)
  }
  if (at - from + power > LONGEST_NUMBER) marks |= HAS_HUGE_NUMBER
  return <i32>at
}

/** Returns the position of the first byte that is not a digit, or `end`. Compares 16 bytes at a time. */
function afterDigits(from: usize, end: usize): usize {
  const zeros = i8x16.splat(48)
  const tens = i8x16.splat(10)
  let at = from
  while (at < end) {
    const digits = i8x16.bitmask(i8x16.lt_u(i8x16.sub(v128.load(at), zeros), tens))
    at += <usize>ctz(~digits & 0x1ffff)
    if (digits != 0xffff) break
  }
  return at < end ? at : end
}
