import { AS_JSON, AS_TEXT, checkAt, INFERRED, stateOf, storedAt, VALID_JSON } from './column-state'
import { fieldOf } from './fields'
import { SUFFIX } from './memory-layout'
import { REFUSED, UNFIT } from './value-result-codes'
import { writeField } from './write-value'

/**
 * The maximum bytes of an encoded field in addition to its text: its length, and the header and first digits of a
 * decimal.
 */
export const FIELD_OVERHEAD: usize = 20

/** The column with the value because of which the last record was not written. */
export let blamed: i32 = -1
/** True if that value rejects its record. False if it shows that the column's inferred type is too narrow. */
export let refused: bool = false

/** The size in bytes of SUFFIX: constant fields that follow the fields of every record. */
export let suffixBytes: usize = 0
let suffixFields: i32 = 0
/** The position in SUFFIX of the row number (i64), and the number of the last row. */
let rowNumberAt: usize = 0
let rowNumber: u64 = 0

/** Sets the suffix fields of the following rows. Their row numbers start at 1. */
export function setSuffix(fields: i32, bytes: usize, numberAt: usize): void {
  suffixFields = fields
  suffixBytes = bytes
  rowNumberAt = numberAt
  rowNumber = 0
}

/**
 * Writes the current record as a row in binary COPY format. Returns the position after the row, or 0 if a value does
 * not fit its column.
 */
export function encodeRecord(width: i32, out: usize): usize {
  store<u16>(out, bswap<u16>(<u16>(width + suffixFields)))
  let at = out + 2
  for (let column = 0; column < width; column++) {
    const length = writeField(at + 4, fieldOf(column), stateOf(column))
    if (length <= UNFIT) {
      blamed = column
      refused = length == REFUSED
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
  store<u64>(at + rowNumberAt, bswap<u64>(++rowNumber))
  return at + suffixBytes
}

/** True if no value of the column can reject its row. */
@inline function acceptsAny(state: usize): bool {
  const check = checkAt(state)
  if ((check & INFERRED) != 0) return true
  return storedAt(state) == AS_TEXT ? check == 0 : check == VALID_JSON && storedAt(state) == AS_JSON
}

/**
 * True if a value of the current record does not fit the given type of its column; `blamed` is then that column.
 * Overwrites the memory at `scratch`.
 */
export function isRefused(width: i32, scratch: usize): bool {
  for (let column = 0; column < width; column++) {
    const state = stateOf(column)
    if (acceptsAny(state)) continue
    if (writeField(scratch, fieldOf(column), state) != REFUSED) continue
    blamed = column
    refused = true
    return true
  }
  return false
}
