import { encodeRecord, FIELD_OVERHEAD, isRefused, refused } from './encode'
import { observeRecord } from './infer'
import { OUT } from './layout'
import { observeOpen, openCount } from './open'

/** What became of a record. */
export const TAKEN: i32 = 3
/** It is not plainly right: whoever called has to look at it. */
export const ODD_RECORD: i32 = 1
export const OUT_IS_FULL: i32 = 2
export const IS_REFUSED: i32 = 4
/** A guessed type does not hold. */
export const IS_UNFIT: i32 = 5

/** What a record is taken for: to widen types by it, or to be written. */
const OBSERVE: i32 = 0

/** The place behind the last row that was written. */
export let outEnd: usize = OUT

let width: i32 = 0
let outLimit: usize = 0
let anyGiven: bool = false

/**
 * The first fields of a record become so many columns. `outBytes`: where a chunk of rows is full; a record that is longer gets
 * a chunk of its own. `given`: are some types no guess, so that rows
 * may be refused?
 */
export function setUse(columns: i32, outBytes: i32, given: bool): void {
  width = columns
  outLimit = OUT + <usize>outBytes
  anyGiven = given
}

/** The rows in OUT were taken away. */
export function emptyOut(): void {
  outEnd = OUT
}

/** Does a record of so many bytes fit behind the rows in OUT? The first always does. */
export function hasRoom(bytes: usize): bool {
  return outEnd == OUT || outEnd + 2 + <usize>width * FIELD_OVERHEAD + bytes + 16 <= outLimit
}

/**
 * Takes the record at hand, which is so many bytes long. A row that is refused says nothing about types, not even about those of its
 * columns that fit: what is given is looked at before what is guessed.
 */
export function take(bytes: usize, use: i32): i32 {
  if (use == OBSERVE) {
    if (anyGiven && isRefused(width, OUT)) return IS_REFUSED
    observeRecord(width)
    return TAKEN
  }
  if (!hasRoom(bytes)) return OUT_IS_FULL
  if (anyGiven && isRefused(width, outEnd)) return IS_REFUSED
  const behind = encodeRecord(width, outEnd)
  if (behind == 0) return refused ? IS_REFUSED : IS_UNFIT
  outEnd = behind
  if (openCount != 0) observeOpen()
  return TAKEN
}
