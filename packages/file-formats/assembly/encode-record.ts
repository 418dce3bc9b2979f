import { AS_JSON, AS_TEXT, checkAt, INFERRED, stateOf, storedTypeAt, VALID_JSON } from './column-state'
import { fieldOf } from './field-layout'
import { SUFFIX } from './memory-layout'
import { isUnfit, REJECTS_ROW } from './value-result-codes'
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

/** The bytes before a row's fields, for their number, and before a field's value, for its length. */
const FIELD_COUNT_BYTES: usize = 2
const LENGTH_BYTES: usize = 4

/**
 * Writes the current record as a row in binary COPY format: the number of fields, and each field as its length and its
 * value. Returns the position after the row. If a value does not fit its column, returns 0 and sets `unfitColumn` and
 * `isRejected`.
 */
export function encodeRecord(width: i32, out: usize): usize {
  store<u16>(out, bswap<u16>(<u16>(width + suffixFields)))
  let at = out + FIELD_COUNT_BYTES
  for (let column = 0; column < width; column++) {
    const value = at + LENGTH_BYTES
    const length = writeField(value, fieldOf(column), stateOf(column))
    if (isUnfit(length)) {
      unfitColumn = column
      isRejected = length == REJECTS_ROW
      return 0
    }
    store<i32>(at, bswap<i32>(length))
    // Null has only a length, NULL_LENGTH.
    at = length > 0 ? value + <usize>length : value
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
 * True if a value of the current record does not fit the declared type of its column, so that its row is rejected. Sets
 * `unfitColumn` to this column. Writes each value to `scratch`, because writing a value also checks it.
 */
export function hasRejectedValue(width: i32, scratch: usize): bool {
  for (let column = 0; column < width; column++) {
    const state = stateOf(column)
    if (acceptsAnyValue(state)) continue
    const result = writeField(scratch, fieldOf(column), state)
    if (result != REJECTS_ROW) continue
    unfitColumn = column
    isRejected = true
    return true
  }
  return false
}
