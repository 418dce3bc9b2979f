import { AS_TEXT, checkAt, PROVEN, stateOf, storedAt } from './columns'
import { fieldOf } from './fields'
import { REFUSED, UNFIT } from './outcome'
import { writeField } from './values'

/** The most bytes that a field can need beyond its own: its length, and a decimal's head and first digits. */
export const FIELD_OVERHEAD: usize = 20

/** The column that the last record which was not written has to blame, and whether it is refused or only not as guessed. */
export let blamed: i32 = -1
export let refused: bool = false

/** Writes the record at hand as a row of binary COPY and answers the place behind it, or 0 when a value does not fit its column. */
export function encodeRecord(width: i32, out: usize): usize {
  store<u16>(out, bswap<u16>(<u16>width))
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
  return at
}

/**
 * Is there a value in the record at hand that the type given for its column cannot take? It is `blamed` then. What is at
 * `scratch` is written over.
 */
export function isRefused(width: i32, scratch: usize): bool {
  for (let column = 0; column < width; column++) {
    const state = stateOf(column)
    if ((checkAt(state) & PROVEN) != 0 || (checkAt(state) == 0 && storedAt(state) == AS_TEXT)) continue
    if (writeField(scratch, fieldOf(column), state) != REFUSED) continue
    blamed = column
    refused = true
    return true
  }
  return false
}
