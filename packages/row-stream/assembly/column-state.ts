import { STATE_BYTES, STATES } from './memory-layout'

/** Codes of a column's stored types. src/profile/value-encodings.ts has the same list. */
export const AS_TEXT: u8 = 0
export const AS_BOOLEAN: u8 = 1
export const AS_SMALLINT: u8 = 2
export const AS_INTEGER: u8 = 3
export const AS_BIGINT: u8 = 4
export const AS_DECIMAL: u8 = 5
export const AS_DOUBLE: u8 = 6
export const AS_DATE: u8 = 7
export const AS_TIMESTAMP: u8 = 8
export const AS_REAL: u8 = 9
export const AS_JSON: u8 = 10

/*
 * The offsets in the state of a column. src/profile/profile-column.ts reads the same layout. Minimum and maximum are
 * finite. The field of the maximum follows that of the minimum.
 */

/** u8: the stored type, one of AS_…. */
const TYPE: usize = 0
/** u8: 1 if there are a minimum and a maximum. */
const HAS_RANGE: usize = 1
/** u8: 1 if there are too many distinct values to count each one. */
const HAS_MANY_VALUES: usize = 2
/** u8: the number of distinct values that are counted. */
const COUNTED_VALUES: usize = 3
/** i32: the minimum bytes of a value of the type. */
const MIN_VALUE_BYTES: usize = 4
/** u64: the number of nulls. */
export const NULLS: usize = 8
/** i64 each: the value, or a key with the same order. */
export const MIN_KEY: usize = 16
export const MAX_KEY: usize = 24
/** u32, followed by that of the maximum: the length in bytes. */
export const MIN_LENGTH: usize = 32
/** i32 each: the smallest and the greatest number of characters. */
const MIN_CHARACTERS: usize = 40
const MAX_CHARACTERS: usize = 44
/** u64 each: the number of these values. */
export const NEGATIVE_INFINITY: usize = 48
export const INFINITY: usize = 56
export const NOT_A_NUMBER: usize = 64
/** STORED_BYTES bytes, followed by those of the maximum: the first bytes. */
export const MIN_BYTES: usize = 72

@inline export function stateOf(column: i32): usize {
  return STATES + <usize>column * STATE_BYTES
}

@inline export function typeAt(state: usize): u8 { return load<u8>(state, TYPE) }
@inline export function minBytesAt(state: usize): i32 { return load<i32>(state, MIN_VALUE_BYTES) }
@inline export function hasValueAt(state: usize): bool { return load<u8>(state, HAS_RANGE) != 0 }
@inline export function setHasValue(state: usize): void { store<u8>(state, 1, HAS_RANGE) }
@inline export function hasManyValuesAt(state: usize): bool { return load<u8>(state, HAS_MANY_VALUES) != 0 }
@inline export function setHasManyValues(state: usize): void { store<u8>(state, 1, HAS_MANY_VALUES) }
@inline export function countedValuesAt(state: usize): i32 { return load<u8>(state, COUNTED_VALUES) }
@inline export function setCountedValues(state: usize, count: i32): void { store<u8>(state, <u8>count, COUNTED_VALUES) }
@inline export function minCharactersAt(state: usize): i32 { return load<i32>(state, MIN_CHARACTERS) }
@inline export function maxCharactersAt(state: usize): i32 { return load<i32>(state, MAX_CHARACTERS) }

/** Sets the type of a column, and limits of its numbers of characters that the first text replaces. */
export function initializeState(state: usize, type: u8, minValueBytes: i32): void {
  store<u8>(state, type, TYPE)
  store<i32>(state, minValueBytes, MIN_VALUE_BYTES)
  store<i32>(state, NO_TEXT, MIN_CHARACTERS)
  store<i32>(state, -1, MAX_CHARACTERS)
}

@inline export function incrementCounter(state: usize, counter: usize): void {
  store<u64>(state + counter, load<u64>(state + counter) + 1)
}

/** Extends the range from minimum to maximum, so that it includes a sort key. */
@inline export function widenRange(state: usize, key: i64): void {
  if (!hasValueAt(state)) {
    setHasValue(state)
    store<i64>(state, key, MIN_KEY)
    store<i64>(state, key, MAX_KEY)
    return
  }
  if (key < load<i64>(state, MIN_KEY)) store<i64>(state, key, MIN_KEY)
  if (key > load<i64>(state, MAX_KEY)) store<i64>(state, key, MAX_KEY)
}

/** The minimum number of characters before any text was measured. */
export const NO_TEXT: i32 = 0x1fffffff

/** Extends the range of text lengths, so that it includes this number of characters. */
@inline export function widenCharacterRange(state: usize, characters: i32): void {
  if (characters < minCharactersAt(state)) store<i32>(state, characters, MIN_CHARACTERS)
  if (characters > maxCharactersAt(state)) store<i32>(state, characters, MAX_CHARACTERS)
}
