import { AS_JSON, AS_TEXT, checkAt, INFERRED, stateOf, storedTypeAt, VALID_JSON } from './column-state'
import { fieldOf } from './field-layout'
import { SUFFIX } from './memory-layout'
import { REJECTS_ROW, DOES_NOT_FIT } from './value-result-codes'
import { writeField } from './write-value'

/**
 * The maximum bytes of an encoded field in addition to its text: its length, and the header and first digits of a
 * decimal.
 */
export const FIELD_OVERHEAD: usize = 20

/** The column with the value that did not fit, if the last record was not written. */
export let unfitColumn: i32 = -1
/** True if that value rejects its row. False if the inferred type of its column is too narrow. */
export let isRejected: bool = false

/** The number of bytes in SUFFIX: constant fields that follow the fields of every record. */
export let suffixBytes: usize = 0
let suffixFields: i32 = 0
/** The offset in SUFFIX of the row number (i64). */
let rowNumberOffset: usize = 0
let lastRowNumber: u64 = 0

/** Describes the suffix that the host (the calling JavaScript) has written to SUFFIX. The row numbers start at 1. */
export function setSuffix(fields: i32, bytes: usize, numberOffset: usize): void {
  suffixFields = fields
  suffixBytes = bytes
  rowNumberOffset = numberOffset
  lastRowNumber = 0
}

/**
 * Writes the current record as a row in binary COPY format. Returns the position after the row. If a value does not fit
 * its column, returns 0 and sets `unfitColumn` and `isRejected`.
 */
export function encodeRecord(width: i32, out: usize): usize {
  store<u16>(out, bswap<u16>(<u16>(width + suffixFields)))
  let at = out + 2
  for (let column = 0; column < width; column++) {
    const length = writeField(at + 4, fieldOf(column), stateOf(column))
    if (length <= DOES_NOT_FIT) {
      unfitColumn = column
      isRejected = length == REJECTS_ROW
      return 0
    }
    store<i32>(at, bswap<i32>(length))
    at += 4
    if (length > 0) at += <usize>length
  }
  return suffixFields == 0 ? at : writeSuffix(at)
}

function writeSuffix(at: usize): usize {
  memory.copy(at, SUFFIX, suffixBytes)
  lastRowNumber++
  store<u64>(at + rowNumberOffset, bswap<u64>(lastRowNumber))
  return at + suffixBytes
}

/** True if no value of the column can reject its row. */
@inline function acceptsAnyValue(state: usize): bool {
  const check = checkAt(state)
  if ((check & INFERRED) != 0) return true
  if (storedTypeAt(state) == AS_TEXT) return check == 0
  return storedTypeAt(state) == AS_JSON && check == VALID_JSON
}

/**
 * Returns true if a value of the current record does not fit the declared type of its column. Sets `unfitColumn` to
 * this column. Overwrites the memory at `scratch`.
 */
export function findRejectedValue(width: i32, scratch: usize): bool {
  for (let column = 0; column < width; column++) {
    const state = stateOf(column)
    if (acceptsAnyValue(state)) continue
    if (writeField(scratch, fieldOf(column), state) != REJECTS_ROW) continue
    unfitColumn = column
    isRejected = true
    return true
  }
  return false
}
