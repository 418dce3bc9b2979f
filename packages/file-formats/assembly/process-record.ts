import { encodeRecord, FIELD_OVERHEAD, isRefused, refused, suffixBytes } from './encode-record'
import { observeRecord } from './infer-types'
import { OUT } from './memory-layout'
import { observeOpen, openCount } from './unconfirmed-columns'

/** Results for one record. */
export const TAKEN: i32 = 3
/** The record is irregular, for example because of broken quotes, so the host (the calling JavaScript) must read it. */
export const ODD_RECORD: i32 = 1
export const OUT_IS_FULL: i32 = 2
export const IS_REFUSED: i32 = 4
/** A value does not fit an inferred type. */
export const IS_UNFIT: i32 = 5

/** The processing of a record: widen the types by it, or write it. */
const OBSERVE: i32 = 0

/** The position after the last written row in OUT. */
export let outEnd: usize = OUT

let width: i32 = 0
let outLimit: usize = 0
let anyGiven: bool = false

/**
 * Sets the number of columns. `outBytes` is the size of a full chunk; a longer record gets a chunk of its own. `given`
 * is true if some types are given, so that rows may be rejected.
 */
export function setUse(columns: i32, outBytes: i32, given: bool): void {
  width = columns
  outLimit = OUT + <usize>outBytes
  anyGiven = given
}

/** Empties OUT. The host calls it after it has copied the rows. */
export function emptyOut(): void {
  outEnd = OUT
}

/** True if a record of `bytes` bytes fits into the output buffer OUT, after the rows that it has. The first record always fits. */
export function hasRoom(bytes: usize): bool {
  return outEnd == OUT || outEnd + 2 + <usize>width * FIELD_OVERHEAD + bytes + suffixBytes + 16 <= outLimit
}

/**
 * Observes or writes the current record, which has `bytes` bytes. A rejected row must not affect any type, so given
 * types are checked before inferred ones.
 */
export function take(bytes: usize, use: i32): i32 {
  if (use == OBSERVE) {
    if (anyGiven && isRefused(width, OUT)) return IS_REFUSED
    observeRecord(width)
    return TAKEN
  }
  if (!hasRoom(bytes)) return OUT_IS_FULL
  if (anyGiven && isRefused(width, outEnd)) return IS_REFUSED
  const nextRow = encodeRecord(width, outEnd)
  if (nextRow == 0) return refused ? IS_REFUSED : IS_UNFIT
  outEnd = nextRow
  if (openCount != 0) observeOpen()
  return TAKEN
}
