import { COLUMN_BYTES, COLUMNS } from './memory-layout'

/** Bits for the kinds of values observed in a column. */
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

/** Codes of stored types. src/delimited/column-state.ts has the same list. */
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
/** The inferred type of a column that had no value. Any value needs a wider type. */
export const AS_NOTHING: u8 = 13

/**
 * Bits for how a column's values are checked. INFERRED: the type was inferred from a part of the values, so a value may
 * need a wider type. Without this bit, the type is declared, and a value that does not fit it rejects its row.
 * STORED_WIDER: the stored type is wider than the inferred or declared type. VALID_JSON: the source has already
 * validated the JSON.
 */
export const INFERRED: u8 = 1
export const STORED_WIDER: u8 = 2
export const VALID_JSON: u8 = 4

/*
 * The state of a column:
 *
 * - Observed values: kinds u8 @0, integer size u8 @1, integer digits u8 @2, scale u8 @3, date formats that fit all
 *   values u8 @4, date formats that were the only one for some value u8 @13.
 * - Inferred or declared type: type u8 @7, maximum integer digits u8 @8, maximum scale u8 @9, allowed date formats u8
 *   @10, check u8 @6.
 * - Stored type: type u8 @5, maximum integer digits u8 @11, maximum scale u8 @12, maximum characters u16 @14.
 * - Formats of the written values: @16 to @31, see record-source-formats.ts.
 */

@inline export function stateOf(column: i32): usize {
  return COLUMNS + <usize>column * COLUMN_BYTES
}

@inline export function kindsAt(state: usize): u8 { return load<u8>(state) }
@inline export function integerSizeAt(state: usize): u8 { return load<u8>(state, 1) }
@inline export function integerDigitsAt(state: usize): u8 { return load<u8>(state, 2) }
@inline export function scaleAt(state: usize): u8 { return load<u8>(state, 3) }
@inline export function dateFormatsAt(state: usize): u8 { return load<u8>(state, 4) }
@inline export function storedTypeAt(state: usize): u8 { return load<u8>(state, 5) }
@inline export function checkAt(state: usize): u8 { return load<u8>(state, 6) }
@inline export function typeAt(state: usize): u8 { return load<u8>(state, 7) }
@inline export function maxIntegerDigitsAt(state: usize): u8 { return load<u8>(state, 8) }
@inline export function maxScaleAt(state: usize): u8 { return load<u8>(state, 9) }
@inline export function allowedDateFormatsAt(state: usize): u8 { return load<u8>(state, 10) }
@inline export function storedMaxIntegerDigitsAt(state: usize): u8 { return load<u8>(state, 11) }
@inline export function storedMaxScaleAt(state: usize): u8 { return load<u8>(state, 12) }
@inline export function maxCharactersAt(state: usize): u16 { return load<u16>(state, 14) }

/** Raises the observed digit counts of a column to those of a number. */
@inline export function widenDigits(state: usize, integerDigits: i32, scale: i32): void {
  if (integerDigits > <i32>load<u8>(state, 2)) store<u8>(state, <u8>integerDigits, 2)
  if (scale > <i32>load<u8>(state, 3)) store<u8>(state, <u8>scale, 3)
}

/** Adds a kind to the observed kinds of a column. */
@inline export function addKind(state: usize, kind: u8): void {
  store<u8>(state, load<u8>(state) | kind)
}

@inline export function widenIntegerSize(state: usize, integerSize: u8): void {
  if (integerSize > load<u8>(state, 1)) store<u8>(state, integerSize, 1)
}

/**
 * Excludes all date formats except those of a value. If the value has only one format, records that it has occurred.
 */
@inline export function narrowDateFormats(state: usize, formats: u8): void {
  store<u8>(state, load<u8>(state, 4) & formats, 4)
  if (popcnt<u32>(formats) == 1) store<u8>(state, load<u8>(state, 13) | formats, 13)
}

/** Resets the observed values and the types of all columns. */
export function resetColumns(columns: i32): void {
  memory.fill(COLUMNS, 0, <usize>columns * COLUMN_BYTES)
}
