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
 * The state of a column, by offset. Minimum and maximum are finite.
 *   0  u8   stored type
 *   1  u8   1 if there is a minimum
 *   2  u8   1 if there are too many distinct values to count each one
 *   3  u8   number of counted values
 *   4  i32  minimum bytes of a value
 *   8  u64  nulls
 *  16  i64  minimum: the value, or a key with its order; 24 the same for the maximum
 *  32  u32  bytes of the minimum; 36 of the maximum
 *  40  i32  smallest number of characters; 44 greatest
 *  48  u64  number of values -Infinity; 56 Infinity; 64 NaN
 *  72       first bytes of the minimum; 136 of the maximum
 */

export const NULLS: usize = 8
export const MIN_KEY: usize = 16
export const MAX_KEY: usize = 24
export const NEGATIVE_INFINITY: usize = 48
export const INFINITY: usize = 56
export const NOT_A_NUMBER: usize = 64

@inline export function stateOf(column: i32): usize {
  return STATES + <usize>column * STATE_BYTES
}

@inline export function typeAt(state: usize): u8 { return load<u8>(state) }
@inline export function minBytesAt(state: usize): i32 { return load<i32>(state, 4) }
@inline export function hasValueAt(state: usize): bool { return load<u8>(state, 1) != 0 }
@inline export function hasManyValuesAt(state: usize): bool { return load<u8>(state, 2) != 0 }
@inline export function countedValuesAt(state: usize): i32 { return load<u8>(state, 3) }
@inline export function minCharactersAt(state: usize): i32 { return load<i32>(state, 40) }
@inline export function maxCharactersAt(state: usize): i32 { return load<i32>(state, 44) }

@inline export function incrementCounter(state: usize, counter: usize): void {
  store<u64>(state + counter, load<u64>(state + counter) + 1)
}

/** Extends the range from minimum to maximum, so that it includes a sort key. */
@inline export function widenRange(state: usize, key: i64): void {
  if (!hasValueAt(state)) {
    store<u8>(state, 1, 1)
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
  if (characters < minCharactersAt(state)) store<i32>(state, characters, 40)
  if (characters > maxCharactersAt(state)) store<i32>(state, characters, 44)
}
