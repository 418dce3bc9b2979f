import { encodeRecord, FIELD_OVERHEAD, hasRejectedValue, isRejected, suffixBytes } from './encode-record'
import { observeRecord } from './observe-column-values'
import { OUT } from './memory-layout'
import { observeUnconfirmed, unconfirmedCount } from './unconfirmed-column-types'

/**
 * Results for one record. The host (the calling JavaScript) must read an irregular record, such as one with broken
 * quotes.
 */
export const IRREGULAR_RECORD: i32 = 1
export const OUTPUT_IS_FULL: i32 = 2
export const RECORD_PROCESSED: i32 = 3
export const VALUE_REJECTED: i32 = 4
export const INFERRED_TYPE_TOO_NARROW: i32 = 5

/** The mode in which records are only observed. With any other mode, they are encoded. */
const OBSERVE: i32 = 0

/** The position after the last written row in OUT. */
export let outEnd: usize = OUT

let width: i32 = 0
let chunkEnd: usize = 0
let mayRejectRows: bool = false

/**
 * Sets the number of columns. `chunkBytes` is the maximum size of the rows in OUT; a longer record has OUT for itself.
 * `hasDeclaredTypes` is true if the type of some column is declared, so that rows may be rejected.
 */
export function configureOutput(columns: i32, chunkBytes: i32, hasDeclaredTypes: bool): void {
  width = columns
  chunkEnd = OUT + <usize>chunkBytes
  mayRejectRows = hasDeclaredTypes
}

/** Empties OUT. The host calls it after it has copied the rows. */
export function clearOutput(): void {
  outEnd = OUT
}

/** The bytes for the number of fields in a row. */
const ROW_HEADER_BYTES: usize = 2
/** The maximum bytes that copying a text overwrites after its end, rounded up. */
const OVERWRITTEN_BYTES: usize = 16

/** True if a record of `recordBytes` bytes fits into OUT after the rows that it has. The first record always fits. */
export function hasOutputSpace(recordBytes: usize): bool {
  if (outEnd == OUT) return true
  const maxRowBytes = ROW_HEADER_BYTES + <usize>width * FIELD_OVERHEAD + recordBytes + suffixBytes
  return outEnd + maxRowBytes + OVERWRITTEN_BYTES <= chunkEnd
}

/**
 * Observes the values of the current record if `mode` is OBSERVE, otherwise appends the record to OUT as a row.
 * `recordBytes` is its length. Returns RECORD_PROCESSED, or why the record was not processed.
 */
export function processRecord(recordBytes: usize, mode: i32): i32 {
  return mode == OBSERVE ? observeCurrentRecord() : appendCurrentRecord(recordBytes)
}

/** Observes the values of the current record. A rejected row must not affect the inferred types, so it is skipped. */
function observeCurrentRecord(): i32 {
  if (mayRejectRows && hasRejectedValue(width, OUT)) return VALUE_REJECTED
  observeRecord(width)
  return RECORD_PROCESSED
}

/**
 * Appends the current record to OUT as a row, and observes its values in the columns with unconfirmed types. Checks the
 * declared types before it writes, because writing a row that is then rejected would affect the inferred types.
 */
function appendCurrentRecord(recordBytes: usize): i32 {
  if (!hasOutputSpace(recordBytes)) return OUTPUT_IS_FULL
  if (mayRejectRows && hasRejectedValue(width, outEnd)) return VALUE_REJECTED
  const rowEnd = encodeRecord(width, outEnd)
  const isWritten = rowEnd != 0
  if (!isWritten) return isRejected ? VALUE_REJECTED : INFERRED_TYPE_TOO_NARROW
  outEnd = rowEnd
  if (unconfirmedCount != 0) observeUnconfirmed()
  return RECORD_PROCESSED
}
