import { SPACE, PLUS, MINUS, POINT, ZERO, LOWER_E } from '../ascii'
import { BLOCK_BYTES } from '../byte-masks'
import { MAX_DEPTH, OPEN_BRACKETS } from './json-memory'

/** Results of a scan instead of a position: the available bytes end too early, or they are not valid JSON. */
export const ENDS_EARLY: i32 = -1
export const INVALID_JSON: i32 = -2

/**
 * Bits of `flags`. HAS_ESCAPE: a backslash. HAS_NUL: U+0000. HAS_LONE_SURROGATE: half a surrogate pair.
 * HAS_HUGE_NUMBER: a number that JSONB cannot store.
 */
export const HAS_ESCAPE: i32 = 1
export const HAS_NUL: i32 = 2
export const HAS_LONE_SURROGATE: i32 = 4
export const HAS_HUGE_NUMBER: i32 = 8

/** Codes of syntax errors, in the order of `faultTexts` in src/json/json-scanner.ts. */
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
/** In ASCII, the code of `]` or `}` is that of `[` or `{` plus two. */
const CLOSING_BRACKET_OFFSET: u8 = 2
const COLON: u8 = 58
const LOWER_U: u8 = 117
/** The length of `\uXXXX`. */
const UNIT_BYTES: i32 = 6

/** The maximum length of a number in JSONB, without exponent. PostgreSQL stores at most 16,383 decimal digits. */
const MAX_NUMBER_BYTES: usize = 16_000
const MAX_EXPONENT_DIGITS: usize = 4

/** The flags of all values that were scanned since `clearFlags`. */
export let flags: i32 = 0
/** After INVALID_JSON: the code of the syntax error and its position. */
export let fault: i32 = 0
export let faultAt: usize = 0

export function clearFlags(): void {
  flags = 0
}

/** Sets `fault` and `faultAt`. Returns INVALID_JSON. */
export function reportSyntaxError(code: i32, at: usize): i32 {
  fault = code
  faultAt = at
  return INVALID_JSON
}

/** Returns the position of the first byte that is not white space, or `end`. */
@inline export function skipSpace(from: usize, end: usize): usize {
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
    at = skipSpace(at, end)
    if (at >= end) return ENDS_EARLY
    const byte = load<u8>(at)
    let next: i32
    if (byte == QUOTE) next = scanString(at, end)
    else if (byte == OPEN_OBJECT || byte == OPEN_ARRAY) {
      if (depth == MAX_DEPTH) return reportSyntaxError(TOO_DEEP, at)
      store<u8>(OPEN_BRACKETS + <usize>depth, byte)
      depth++
      at = skipSpace(at + 1, end)
      if (at >= end) return ENDS_EARLY
      const isEmpty = load<u8>(at) == byte + CLOSING_BRACKET_OFFSET
      if (!isEmpty) {
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
    // After a value: closes brackets until a comma announces the next value.
    for (;;) {
      if (depth == 0) return <i32>at
      at = skipSpace(at, end)
      if (at >= end) return ENDS_EARLY
      const openBracket = load<u8>(OPEN_BRACKETS + <usize>(depth - 1))
      const byteAfterValue = load<u8>(at)
      if (byteAfterValue == COMMA) {
        at++
        if (openBracket == OPEN_ARRAY) break
        next = scanKey(skipSpace(at, end), end)
        if (next < 0) return next
        at = <usize>next
        break
      }
      if (byteAfterValue != openBracket + CLOSING_BRACKET_OFFSET) {
        return reportSyntaxError(openBracket == OPEN_OBJECT ? COMMA_OR_BRACE_EXPECTED : COMMA_OR_BRACKET_EXPECTED, at)
      }
      depth--
      at++
    }
  }
}

/** Scans a key and the colon after it. Returns the position after the colon, ENDS_EARLY or INVALID_JSON. */
export function scanKey(from: usize, end: usize): i32 {
  if (from >= end) return ENDS_EARLY
  if (load<u8>(from) != QUOTE) return reportSyntaxError(KEY_EXPECTED, from)
  const keyEnd = scanString(from, end)
  return keyEnd < 0 ? keyEnd : scanColon(<usize>keyEnd, end)
}

/** Scans a colon after optional white space. Returns the position after it, ENDS_EARLY or INVALID_JSON. */
export function scanColon(from: usize, end: usize): i32 {
  const at = skipSpace(from, end)
  if (at >= end) return ENDS_EARLY
  return load<u8>(at) == COLON ? <i32>at + 1 : reportSyntaxError(COLON_EXPECTED, at)
}

/**
 * Scans the string that starts with its opening quote at `from`. Returns the position after its closing quote,
 * ENDS_EARLY or INVALID_JSON. Adds HAS_ESCAPE to `flags` if it contains a backslash.
 */
export function scanString(from: usize, end: usize): i32 {
  let at = from + 1
  while (at < end) {
    const specialBytes = findSpecialBytes(at)
    if (specialBytes == 0) {
      at += BLOCK_BYTES
      continue
    }
    at += <usize>ctz(specialBytes)
    if (at >= end) return ENDS_EARLY
    const byte = load<u8>(at)
    if (byte == QUOTE) return <i32>at + 1
    if (byte != BACKSLASH) return reportSyntaxError(CONTROL_CHARACTER, at)
    flags |= HAS_ESCAPE
    const escapeEnd = scanEscape(at, end)
    if (escapeEnd < 0) return escapeEnd
    at = <usize>escapeEnd
  }
  return ENDS_EARLY
}

/** Returns a mask with a bit for each of the next 16 bytes that is a quote, a backslash or a control character. */
@inline function findSpecialBytes(at: usize): i32 {
  const block = v128.load(at)
  const quotes = i8x16.eq(block, i8x16.splat(QUOTE))
  const backslashes = i8x16.eq(block, i8x16.splat(BACKSLASH))
  const controlCharacters = i8x16.lt_u(block, i8x16.splat(SPACE))
  return i8x16.bitmask(v128.or(v128.or(quotes, backslashes), controlCharacters))
}

/**
 * Scans an escape sequence, such as `\n` or `\u00e9`, or the two of a surrogate pair. Returns the position after it,
 * ENDS_EARLY or INVALID_JSON.
 */
function scanEscape(from: usize, end: usize): i32 {
  if (from + 1 >= end) return ENDS_EARLY
  const character = load<u8>(from, 1)
  if (character == LOWER_U) return scanUnicodeEscape(from, end)
  return isEscapeCharacter(character) ? <i32>from + 2 : reportSyntaxError(BAD_ESCAPE, from)
}

/**
 * Scans `\uXXXX`, or two of them that are a surrogate pair. Adds HAS_NUL or HAS_LONE_SURROGATE to `flags` for a
 * character that cannot be stored. Returns the position after it, ENDS_EARLY or INVALID_JSON.
 */
function scanUnicodeEscape(from: usize, end: usize): i32 {
  const unit = scanEscapedUnit(from, end)
  if (unit < 0) return unit
  const unitEnd = <i32>from + UNIT_BYTES
  if (unit == 0) flags |= HAS_NUL
  if (isHighSurrogate(unit)) {
    const pairEnd = scanLowSurrogate(<usize>unitEnd, end)
    if (pairEnd != NO_LOW_SURROGATE) return pairEnd
    flags |= HAS_LONE_SURROGATE
  } else if (isLowSurrogate(unit)) flags |= HAS_LONE_SURROGATE
  return unitEnd
}

const NO_LOW_SURROGATE: i32 = 0

/**
 * Scans an escaped low surrogate. Returns the position after it, ENDS_EARLY, INVALID_JSON, or NO_LOW_SURROGATE if
 * something else is at `from`.
 */
function scanLowSurrogate(from: usize, end: usize): i32 {
  if (from + 2 > end) return ENDS_EARLY
  const startsUnit = load<u8>(from) == BACKSLASH && load<u8>(from, 1) == LOWER_U
  if (!startsUnit) return NO_LOW_SURROGATE
  const unit = scanEscapedUnit(from, end)
  if (unit < 0) return unit
  return isLowSurrogate(unit) ? <i32>from + UNIT_BYTES : NO_LOW_SURROGATE
}

/** True for the first half of a surrogate pair, U+D800 to U+DBFF. */
@inline export function isHighSurrogate(unit: i32): bool {
  return (unit & 0xfc00) == 0xd800
}

/** True for the second half of a surrogate pair, U+DC00 to U+DFFF. */
@inline function isLowSurrogate(unit: i32): bool {
  return (unit & 0xfc00) == 0xdc00
}

/** True if the character can follow a backslash: one of `"\/bfnrt`. */
@inline function isEscapeCharacter(character: u8): bool {
  return character == QUOTE || character == BACKSLASH || character == 47 || character == 98 || character == 102 || character == 110 ||
    character == 114 || character == 116
}

/** Scans `\uXXXX`. Returns its code unit, ENDS_EARLY or INVALID_JSON. */
function scanEscapedUnit(from: usize, end: usize): i32 {
  if (from + 6 > end) return ENDS_EARLY
  const unit = parseEscapedUnit(from)
  return unit < 0 ? reportSyntaxError(BAD_ESCAPE, from) : unit
}

/** Parses `\uXXXX`. Returns its code unit, or -1. */
export function parseEscapedUnit(from: usize): i32 {
  let unit = 0
  for (let at = from + 2; at < from + 6; at++) {
    const byte = load<u8>(at)
    const digit = parseHexDigit(byte)
    if (digit < 0) return -1
    unit = (unit << 4) | digit
  }
  return unit
}

/** Returns the value of a hexadecimal digit, or -1. */
@inline function parseHexDigit(byte: u8): i32 {
  if (isDigit(byte)) return <i32>byte - 48
  const lowercase = byte | LOWERCASE_BIT
  return lowercase >= LOWER_A && lowercase <= LOWER_F ? <i32>(lowercase - LOWER_A) + 10 : -1
}

/** The bit that distinguishes lowercase from uppercase in ASCII. */
const LOWERCASE_BIT: u8 = 0x20
const LOWER_A: u8 = 97
const LOWER_F: u8 = 102
const LOWER_N: u8 = 110
const LOWER_T: u8 = 116

@inline function isDigit(byte: u8): bool {
  return byte >= 48 && byte <= 57
}

/** Scans a number, `true`, `false` or `null`. Returns the position after it, ENDS_EARLY or INVALID_JSON. */
@inline export function scanPlain(from: usize, end: usize): i32 {
  const byte = load<u8>(from)
  if (byte == MINUS || isDigit(byte)) return scanNumber(from, end)
  if (byte == LOWER_T) return scanWord(TRUE, 4, from, end)
  if (byte == LOWER_F) return scanWord(FALSE, 5, from, end)
  if (byte == LOWER_N) return scanWord(NULL, 4, from, end)
  return reportSyntaxError(VALUE_EXPECTED, from)
}

// The words as integers: the first character is the lowest byte.
const TRUE: u64 = 0x65757274
const FALSE: u64 = 0x65736c6166
const NULL: u64 = 0x6c6c756e

/** Scans a word of `length` letters. */
function scanWord(word: u64, length: usize, from: usize, end: usize): i32 {
  for (let i: usize = 0; i < length; i++) {
    if (from + i >= end) return ENDS_EARLY
    const character = <u8>(word >> (<u64>i * 8))
    if (load<u8>(from + i) != character) return reportSyntaxError(VALUE_EXPECTED, from)
  }
  return <i32>(from + length)
}

/**
 * Scans a number. Returns the position after it, ENDS_EARLY or INVALID_JSON. A number at the end of the available bytes
 * ends early too, because it could have more digits. Adds HAS_HUGE_NUMBER to `flags` if JSONB cannot store it.
 */
function scanNumber(from: usize, end: usize): i32 {
  const firstDigit = load<u8>(from) == MINUS ? from + 1 : from
  let at = skipDigits(firstDigit, end)
  if (at == end) return ENDS_EARLY
  const hasNoDigit = at == firstDigit
  const hasLeadingZero = load<u8>(firstDigit) == ZERO && at - firstDigit > 1
  if (hasNoDigit || hasLeadingZero) return reportSyntaxError(BAD_NUMBER, from)
  if (load<u8>(at) == POINT) {
    const fraction = at + 1
    at = skipDigits(fraction, end)
    if (at == end) return ENDS_EARLY
    if (at == fraction) return reportSyntaxError(BAD_NUMBER, from)
  }
  const hasExponent = (load<u8>(at) | LOWERCASE_BIT) == LOWER_E
  if (hasExponent) return scanExponent(from, at + 1, end)
  if (at - from > MAX_NUMBER_BYTES) flags |= HAS_HUGE_NUMBER
  return <i32>at
}

/** Scans the exponent after the `e` of a number that starts at `number`. The results are those of `scanNumber`. */
function scanExponent(number: usize, from: usize, end: usize): i32 {
  const hasSign = from < end && (load<u8>(from) == PLUS || load<u8>(from) == MINUS)
  const firstDigit = hasSign ? from + 1 : from
  const exponentEnd = skipDigits(firstDigit, end)
  if (exponentEnd == end) return ENDS_EARLY
  if (exponentEnd == firstDigit) return reportSyntaxError(BAD_NUMBER, number)
  const hasLongExponent = exponentEnd - firstDigit > MAX_EXPONENT_DIGITS
  if (hasLongExponent || exponentEnd - number + parseDigits(firstDigit, exponentEnd) > MAX_NUMBER_BYTES) {
    flags |= HAS_HUGE_NUMBER
  }
  return <i32>exponentEnd
}

function parseDigits(from: usize, to: usize): usize {
  let value: usize = 0
  for (let at = from; at < to; at++) value = value * 10 + <usize>(load<u8>(at) - ZERO)
  return value
}

/** Returns the position of the first byte that is not a digit, or `end`. Compares 16 bytes at a time. */
function skipDigits(from: usize, end: usize): usize {
  for (let at = from; at < end; at += BLOCK_BYTES) {
    const values = i8x16.sub(v128.load(at), i8x16.splat(ZERO))
    const otherBytes = i8x16.bitmask(i8x16.ge_u(values, i8x16.splat(10)))
    if (otherBytes == 0) continue
    const firstOtherByte = at + <usize>ctz(otherBytes)
    return firstOtherByte < end ? firstOtherByte : end
  }
  return end
}
