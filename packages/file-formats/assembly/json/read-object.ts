import { KEYS, KINDS, SPELLINGS, SPELLINGS_BYTES, VALUES } from './json-memory'
import {
  afterSpace, broken, COMMA, COMMA_OR_BRACE_EXPECTED, HAS_ESCAPE, HAS_HUGE_NUMBER, HAS_LONE_SURROGATE, HAS_NUL, KEY_EXPECTED,
  KEY_NOT_UTF8, ENDS_EARLY, OPEN_ARRAY, OPEN_OBJECT, QUOTE, marks, clearMarks, scanColon, scanPlain, scanString, scanValue,
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
 * The number of expected keys to compare before calling the host (the calling JavaScript). Objects rarely leave out
 * more consecutive keys.
 */
const COMPARED_KEYS: i32 = 16

/** The number of columns. */
export let width: i32 = 0
/** The first value of the current object that cannot be stored: its column (-1 if all can be stored) and its marks. */
export let unfitColumn: i32 = -1
export let unfitMarks: i32 = 0

let spellingsEnd: usize = SPELLINGS

/**
 * Calls the host to find the column for a key with this spelling, or to add one. Returns -1 if the key is not valid
 * UTF-8.
 */
@external('host', 'columnOf')
declare function columnOf(from: usize, length: i32): i32

export function forgetColumns(): void {
  width = 0
  spellingsEnd = SPELLINGS
}

/** Adds a column for a key. Stores its spelling while there is space; the host stores all spellings. */
export function addColumn(from: usize, length: usize): void {
  const key = KEYS + <usize>width * 8
  width++
  const isStored = spellingsEnd + length + 16 <= SPELLINGS + SPELLINGS_BYTES
  store<u32>(key, isStored ? <u32>spellingsEnd : 0)
  store<u32>(key, <u32>length, 4)
  if (!isStored) return
  memory.copy(spellingsEnd, from, length)
  spellingsEnd += length + 16
}

/**
 * Records the positions of the values of the object at `from`, by column. Returns the position after the object,
 * ENDS_EARLY or INVALID_JSON. Of duplicate keys, the last value counts.
 */
export function readObject(from: usize, end: usize): i32 {
  memory.fill(KINDS, ABSENT_VALUE, <usize>width)
  unfitColumn = -1
  let expected = 0
  let at = afterSpace(from + 1, end)
  if (at < end && load<u8>(at) == CLOSE_OBJECT) return <i32>at + 1
  while (true) {
    if (at >= end) return ENDS_EARLY
    if (load<u8>(at) != QUOTE) return broken(KEY_EXPECTED, at)
    let column = expected
    let closed = afterKey(column, at, end)
    if (closed == 0) {
      column = findColumn(expected, at, end)
      if (column >= 0) closed = <i32>at + 2 + load<i32>(KEYS + <usize>column * 8, 4)
      else {
        closed = scanString(at, end)
        if (closed < 0) return closed
        column = addOrFindColumn(at + 1, <usize>closed - 1)
        if (column < 0) return broken(KEY_NOT_UTF8, at)
      }
    }
    const value = scanColon(<usize>closed, end)
    if (value < 0) return value
    expected = column + 1
    const next = readValue(afterSpace(<usize>value, end), end, column)
    if (next < 0) return next
    at = afterSpace(<usize>next, end)
    if (at >= end) return ENDS_EARLY
    const byte = load<u8>(at)
    if (byte == CLOSE_OBJECT) return <i32>at + 1
    if (byte != COMMA) return broken(COMMA_OR_BRACE_EXPECTED, at)
    at = afterSpace(at + 1, end)
  }
}

/** Compares the key at `from` with the expected key and with those after it. Returns the key's column, or -1. */
function findColumn(expected: i32, from: usize, end: usize): i32 {
  for (let i = 0; i < COMPARED_KEYS && i < width; i++) {
    let column = expected + i
    if (column >= width) column -= width
    if (afterKey(column, from, end) != 0) return column
  }
  return -1
}

function addOrFindColumn(from: usize, to: usize): i32 {
  const before = width
  const column = columnOf(from, <i32>(to - from))
  if (width > before) store<u8>(KINDS + <usize>column, ABSENT_VALUE)
  return column
}

/**
 * If the key at `from` has the spelling of the column's key, returns the position after its closing quote, otherwise 0.
 */
@inline function afterKey(column: i32, from: usize, end: usize): i32 {
  if (column >= width) return 0
  const key = KEYS + <usize>column * 8
  const spelling = <usize>load<u32>(key)
  const length = <usize>load<u32>(key, 4)
  const closing = from + 1 + length
  if (spelling == 0 || closing >= end || load<u8>(closing) != QUOTE) return 0
  return isEqual(from + 1, spelling, length) ? <i32>closing + 1 : 0
}

/** Compares 16 bytes at a time. May read a few bytes after both texts. */
@inline function isEqual(one: usize, other: usize, length: usize): bool {
  let at: usize = 0
  for (; at + 16 <= length; at += 16) {
    if (i8x16.bitmask(i8x16.eq(v128.load(one + at), v128.load(other + at))) != 0xffff) return false
  }
  const rest = (1 << <i32>(length - at)) - 1
  return (i8x16.bitmask(i8x16.eq(v128.load(one + at), v128.load(other + at))) & rest) == rest
}

@inline function readValue(from: usize, end: usize, column: i32): i32 {
  if (from >= end) return ENDS_EARLY
  clearMarks()
  const byte = load<u8>(from)
  const isText = byte == QUOTE
  const isNested = byte == OPEN_OBJECT || byte == OPEN_ARRAY
  const to = isText ? scanString(from, end) : isNested ? scanValue(from, end) : scanPlain(from, end)
  if (to < 0) return to
  const quote: u32 = isText ? 1 : 0
  const value = VALUES + <usize>column * 8
  store<u32>(value, <u32>from + quote)
  store<u32>(value, <u32>to - quote, 4)
  const kind: u8 = isText
    ? marks & HAS_ESCAPE ? ESCAPED_TEXT : TEXT_VALUE
    : isNested ? NESTED_VALUE : byte == LOWER_N ? ABSENT_VALUE : PLAIN_VALUE
  store<u8>(KINDS + <usize>column, kind)
  if (marks & ~HAS_ESCAPE) refuse(marks, isNested, column)
  return to
}

/**
 * Records a value that cannot be stored. A huge number can be stored, unless it is part of a nested value, which
 * becomes JSONB.
 */
function refuse(valueMarks: i32, isNested: bool, column: i32): void {
  if (unfitColumn >= 0) return
  if ((valueMarks & (HAS_NUL | HAS_LONE_SURROGATE)) == 0 && !(isNested && (valueMarks & HAS_HUGE_NUMBER) != 0)) return
  unfitColumn = column
  unfitMarks = valueMarks
}
