import { COLUMN_BYTES, COLUMNS } from './layout'

/** What a column has held, as bits. */
export const BOOLEAN: u8 = 1
export const INTEGER: u8 = 2
export const DECIMAL: u8 = 4
export const DOUBLE: u8 = 8
export const DATE: u8 = 16
export const TIMESTAMP: u8 = 32
export const TIMESTAMPTZ: u8 = 64
export const TEXT: u8 = 128

export const NUMBERS: u8 = INTEGER | DECIMAL | DOUBLE
export const TIMES: u8 = DATE | TIMESTAMP | TIMESTAMPTZ

/** What a column is written as; host/column-state.ts has the same list. */
export const AS_TEXT: u8 = 0
export const AS_BOOLEAN: u8 = 1
export const AS_SMALLINT: u8 = 2
export const AS_INTEGER: u8 = 3
export const AS_BIGINT: u8 = 4
export const AS_DECIMAL: u8 = 5
export const AS_DOUBLE: u8 = 6
export const AS_DATE: u8 = 7
export const AS_TIMESTAMP: u8 = 8
export const AS_TIMESTAMPTZ: u8 = 9
export const AS_REAL: u8 = 10
export const AS_VARCHAR: u8 = 11
export const AS_JSON: u8 = 12
/** Of a guess alone: no value was seen, so that any value fails it. */
export const AS_NOTHING: u8 = 13

/**
 * How a value is held against its column, as bits. PROVEN: the type is a guess, and writing every value is its proof; without it
 * somebody said what the column is, and a row that does not fit is refused. APART: it is stored as something wider.
 */
export const PROVEN: u8 = 1
export const APART: u8 = 2

/*
 * A column's state. What was seen: kinds u8 @0, room u8 @1, integer digits u8 @2, scale u8 @3, spellings of times still
 * possible u8 @4. What it is written as: stored u8 @5, check u8 @6; the type guessed or given u8 @7, its integer digits u8 @8, scale
 * u8 @9 and spellings u8 @10; stored integer digits u8 @11, scale u8 @12, most characters u16 @14. Spellings of times that were the only
 * one for some value u8 @13: seen too.
 */

@inline export function stateOf(column: i32): usize {
  return COLUMNS + <usize>column * COLUMN_BYTES
}

@inline export function kindsAt(state: usize): u8 { return load<u8>(state) }
@inline export function roomAt(state: usize): u8 { return load<u8>(state, 1) }
@inline export function integerDigitsAt(state: usize): u8 { return load<u8>(state, 2) }
@inline export function scaleAt(state: usize): u8 { return load<u8>(state, 3) }
@inline export function spellingsAt(state: usize): u8 { return load<u8>(state, 4) }
@inline export function storedAt(state: usize): u8 { return load<u8>(state, 5) }
@inline export function checkAt(state: usize): u8 { return load<u8>(state, 6) }
@inline export function typeAt(state: usize): u8 { return load<u8>(state, 7) }
@inline export function digitsLimitAt(state: usize): u8 { return load<u8>(state, 8) }
@inline export function scaleLimitAt(state: usize): u8 { return load<u8>(state, 9) }
@inline export function spellingsTakenAt(state: usize): u8 { return load<u8>(state, 10) }
@inline export function storedDigitsAt(state: usize): u8 { return load<u8>(state, 11) }
@inline export function storedScaleAt(state: usize): u8 { return load<u8>(state, 12) }
@inline export function mostCharactersAt(state: usize): u16 { return load<u16>(state, 14) }

/** Widens what is known of a column by the digits of a number. */
@inline export function widenDigits(state: usize, integerDigits: i32, scale: i32): void {
  if (integerDigits > <i32>load<u8>(state, 2)) store<u8>(state, <u8>integerDigits, 2)
  if (scale > <i32>load<u8>(state, 3)) store<u8>(state, <u8>scale, 3)
}

@inline export function widen(state: usize, kind: u8): void {
  store<u8>(state, load<u8>(state) | kind)
}

@inline export function widenRoom(state: usize, room: u8): void {
  if (room > load<u8>(state, 1)) store<u8>(state, room, 1)
}

@inline export function narrowSpellings(state: usize, spellings: u8): void {
  store<u8>(state, load<u8>(state, 4) & spellings, 4)
  if (popcnt<u32>(spellings) == 1) store<u8>(state, load<u8>(state, 13) | spellings, 13)
}

/** Forgets what was seen and what is to be written. */
export function forgetColumns(columns: i32): void {
  memory.fill(COLUMNS, 0, <usize>columns * COLUMN_BYTES)
}
