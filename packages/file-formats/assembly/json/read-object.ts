import { KEYS, KINDS, SPELLINGS, SPELLINGS_BYTES, VALUES } from './json-memory'
import {
  skipSpace, reportSyntaxError, COMMA, COMMA_OR_BRACE_EXPECTED, HAS_ESCAPE, HAS_HUGE_NUMBER, HAS_LONE_SURROGATE, HAS_NUL, KEY_EXPECTED,
  KEY_NOT_UTF8, ENDS_EARLY, OPEN_ARRAY, OPEN_OBJECT, QUOTE, flags, clearFlags, scanColon, scanPlain, scanString, scanValue,
} from './scan-value'

/** Kinds of the current object's values. A null counts as absent. */
export const ABSENT_VALUE: u8 = 0
export const PLAIN_VALUE: u8 = 1
export const TEXT_VALUE: u8 = 2
export const ESCAPED_TEXT: u8 = 3
export const NESTED_VALUE: u8 = 4

const CLOSE_OBJECT: u8 = 125
const LOWER_N: u8 = 110

/**
 * The number of keys, from the expected one on, that are compared before the host (the calling JavaScript) is called.
 * Objects rarely leave out more consecutive keys.
 */
const MAX_COMPARED_KEYS: i32 = 16
/** The unused bytes after each spelling, because keys are compared 16 bytes at a time. */
const SPELLING_PADDING: usize = 16

/** The number of columns. */
export let width: i32 = 0
/** The column of the first value in the current object that cannot be stored, or -1. */
export let unstorableColumn: i32 = -1
/** The flags of that value. */
export let unstorableFlags: i32 = 0

let spellingsEnd: usize = SPELLINGS

/** Lets the host find the column for a key with this spelling, or add one. Returns -1 if the key is not valid UTF-8. */
@external('host', 'findOrAddColumn')
declare function findOrAddColumn(from: usize, length: i32): i32

export function resetColumns(): void {
  width = 0
  spellingsEnd = SPELLINGS
}

/**
 * Adds a column for a key. Copies the key's spelling to SPELLINGS if there is space, so that later keys are compared
 * with it; otherwise, the host finds its column. The host calls this.
 */
export function addColumn(from: usize, length: usize): void {
  const hasSpace = spellingsEnd + length + SPELLING_PADDING <= SPELLINGS + SPELLINGS_BYTES
  setKey(width, hasSpace ? spellingsEnd : NOT_STORED, length)
  width++
  if (!hasSpace) return
  memory.copy(spellingsEnd, from, length)
  spellingsEnd += length + SPELLING_PADDING
}

/** The address of a spelling that is not in SPELLINGS. */
const NOT_STORED: usize = 0

// An entry of KEYS: the address of the spelling u32 @0, its length u32 @4.
const KEY_ENTRY_BYTES: usize = 8

@inline function keyEntryOf(column: i32): usize {
  return KEYS + <usize>column * KEY_ENTRY_BYTES
}

@inline function setKey(column: i32, spelling: usize, length: usize): void {
  store<u32>(keyEntryOf(column), <u32>spelling)
  store<u32>(keyEntryOf(column), <u32>length, 4)
}

@inline function spellingOf(column: i32): usize {
  return <usize>load<u32>(keyEntryOf(column))
}

@inline function spellingLengthOf(column: i32): usize {
  return <usize>load<u32>(keyEntryOf(column), 4)
}

/**
 * Reads the object at `from`: stores the positions and kinds of its values by column. Returns the position after the
 * object, ENDS_EARLY or INVALID_JSON. Of duplicate keys, the last value counts. Keys are found faster if they have the
 * order of the columns.
 */
export function readObject(from: usize, end: usize): i32 {
  memory.fill(KINDS, ABSENT_VALUE, <usize>width)
  unstorableColumn = -1
  let expectedColumn = 0
  let at = skipSpace(from + 1, end)
  const isEmpty = at < end && load<u8>(at) == CLOSE_OBJECT
  if (isEmpty) return <i32>at + 1
  while (true) {
    if (at >= end) return ENDS_EARLY
    if (load<u8>(at) != QUOTE) return reportSyntaxError(KEY_EXPECTED, at)
    let column = expectedColumn
    let keyEnd = skipKey(column, at, end)
    if (keyEnd == OTHER_KEY) {
      keyEnd = readUnexpectedKey(expectedColumn, at, end)
      if (keyEnd < 0) return keyEnd
      column = columnOfLastKey
    }
    expectedColumn = column + 1
    const colonEnd = scanColon(<usize>keyEnd, end)
    if (colonEnd < 0) return colonEnd
    const valueEnd = readValue(skipSpace(<usize>colonEnd, end), end, column)
    if (valueEnd < 0) return valueEnd
    at = skipSpace(<usize>valueEnd, end)
    if (at >= end) return ENDS_EARLY
    const byteAfterValue = load<u8>(at)
    if (byteAfterValue == CLOSE_OBJECT) return <i32>at + 1
    if (byteAfterValue != COMMA) return reportSyntaxError(COMMA_OR_BRACE_EXPECTED, at)
    at = skipSpace(at + 1, end)
  }
}

/** The two quotes around a key. */
const BYTES_OF_QUOTES: i32 = 2

/** The column that the last `readUnexpectedKey` has found. */
let columnOfLastKey: i32 = 0

/**
 * Finds the column of a key that is not the expected one, or lets the host add one. Sets `columnOfLastKey`. Returns the
 * position after the key, ENDS_EARLY or INVALID_JSON.
 */
function readUnexpectedKey(expectedColumn: i32, from: usize, end: usize): i32 {
  columnOfLastKey = findColumn(expectedColumn, from, end)
  if (columnOfLastKey >= 0) return <i32>(from + spellingLengthOf(columnOfLastKey)) + BYTES_OF_QUOTES
  const keyEnd = scanString(from, end)
  if (keyEnd < 0) return keyEnd
  columnOfLastKey = findOrAddColumnInHost(from + 1, <usize>keyEnd - 1)
  return columnOfLastKey < 0 ? reportSyntaxError(KEY_NOT_UTF8, from) : keyEnd
}

/** Compares the key at `from` with the expected key and with the next ones. Returns the key's column, or -1. */
function findColumn(expectedColumn: i32, from: usize, end: usize): i32 {
  for (let i = 0; i < MAX_COMPARED_KEYS && i < width; i++) {
    let column = expectedColumn + i
    // The first key follows the last one.
    if (column >= width) column -= width
    if (skipKey(column, from, end) != OTHER_KEY) return column
  }
  return -1
}

/** Returns the column that the host finds or adds for a key. A new column has no value in the current object yet. */
function findOrAddColumnInHost(from: usize, to: usize): i32 {
  const widthBefore = width
  const column = findOrAddColumn(from, <i32>(to - from))
  if (width > widthBefore) store<u8>(KINDS + <usize>column, ABSENT_VALUE)
  return column
}

/** The result of `skipKey` for another key. */
const OTHER_KEY: i32 = 0

/** Returns the position after the key at `from` if its spelling is the stored one of a column, otherwise OTHER_KEY. */
@inline function skipKey(column: i32, from: usize, end: usize): i32 {
  if (column >= width) return OTHER_KEY
  const spelling = spellingOf(column)
  const length = spellingLengthOf(column)
  const closingQuote = from + 1 + length
  if (spelling == NOT_STORED || closingQuote >= end || load<u8>(closingQuote) != QUOTE) return OTHER_KEY
  return isEqual(from + 1, spelling, length) ? <i32>closingQuote + 1 : OTHER_KEY
}

/** Compares two texts, 16 bytes at a time. May read up to 15 bytes after both texts. */
@inline function isEqual(one: usize, other: usize, length: usize): bool {
  let at: usize = 0
  for (; at + 16 <= length; at += 16) {
    if (equalBytes(one + at, other + at) != 0xffff) return false
  }
  const restMask = (1 << <i32>(length - at)) - 1
  return (equalBytes(one + at, other + at) & restMask) == restMask
}

/** Compares 16 bytes. Returns a mask with a bit for each byte that is equal in both texts. */
@inline function equalBytes(one: usize, other: usize): i32 {
  return i8x16.bitmask(i8x16.eq(v128.load(one), v128.load(other)))
}

/** Reads the value at `from` into a column. Returns the position after it, ENDS_EARLY or INVALID_JSON. */
@inline function readValue(from: usize, end: usize, column: i32): i32 {
  if (from >= end) return ENDS_EARLY
  clearFlags()
  const byte = load<u8>(from)
  if (byte == QUOTE) {
    const to = scanString(from, end)
    if (to < 0) return to
    const kind = flags & HAS_ESCAPE ? ESCAPED_TEXT : TEXT_VALUE
    return setValue(column, kind, <u32>from + 1, <u32>to - 1, to)
  }
  if (byte == OPEN_OBJECT || byte == OPEN_ARRAY) {
    const to = scanValue(from, end)
    return to < 0 ? to : setValue(column, NESTED_VALUE, <u32>from, <u32>to, to)
  }
  const to = scanPlain(from, end)
  if (to < 0) return to
  const isNull = byte == LOWER_N
  return setValue(column, isNull ? ABSENT_VALUE : PLAIN_VALUE, <u32>from, <u32>to, to)
}

/** Stores the kind and position of a value. Returns `next`. */
@inline function setValue(column: i32, kind: u8, from: u32, to: u32, next: i32): i32 {
  const value = VALUES + <usize>column * 8
  store<u32>(value, from)
  store<u32>(value, to, 4)
  store<u8>(KINDS + <usize>column, kind)
  if (flags & ~HAS_ESCAPE) checkStorable(kind, column)
  return next
}

/**
 * Records the scanned value if it cannot be stored and is the first such value of its object. A huge number cannot be
 * stored inside of a nested value, which becomes JSONB. Elsewhere, it can.
 */
function checkStorable(kind: u8, column: i32): void {
  if (unstorableColumn >= 0) return
  const hasUnstorableText = (flags & (HAS_NUL | HAS_LONE_SURROGATE)) != 0
  const hasUnstorableNumber = kind == NESTED_VALUE && (flags & HAS_HUGE_NUMBER) != 0
  if (!hasUnstorableText && !hasUnstorableNumber) return
  unstorableColumn = column
  unstorableFlags = flags
}
