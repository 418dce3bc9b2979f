import { encodeRecord, FIELD_OVERHEAD, findRejectedValue, isRejected, suffixBytes } from './encode-record'
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
 * Observes or encodes the current record, which has `recordBytes` bytes. Checks the declared types first, because a
 * rejected row must not affect the inferred types.
 */
export function processRecord(recordBytes: usize, mode: i32): i32 {
  if (mode == OBSERVE) {
    if (mayRejectRows && findRejectedValue(width, OUT)) return VALUE_REJECTED
    observeRecord(width)
    return RECORD_PROCESSED
  }
  if (!hasOutputSpace(recordBytes)) return OUTPUT_IS_FULL
  if (mayRejectRows && findRejectedValue(width, outEnd)) return VALUE_REJECTED
  const nextRow = encodeRecord(width, outEnd)
  if (nextRow == 0) return isRejected ? VALUE_REJECTED : INFERRED_TYPE_TOO_NARROW
  outEnd = nextRow
  if (unconfirmedCount != 0) observeUnconfirmed()
  return RECORD_PROCESSED
}
