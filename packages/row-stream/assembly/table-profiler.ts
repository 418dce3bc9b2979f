import { AS_JSON, kindAt, leastBytesAt, stateOf } from './column-state'
import { IN, KEPT_BYTES, layOut, LONG_TEXT } from './memory-layout'
import { characters } from './min-max-bytes'
import { countJson, measureCountedText, measureNull, measureValue } from './measure-rows'
import { clearSample, endSampledRow, isDrawn, sampleBytes, sampleNull, sampleValue, startSampledRow } from './sample-rows'
import { chainHashes, hashBytes } from './value-hashes'

export {
  IN, IN_BYTES, KEPT_BYTES, MAX_COUNTED, REGISTER_COUNT, registers, sample, SLOT_BYTES, SLOT_COUNT, slots, STATE_BYTES, STATES,
  VALUE_BYTES, values,
} from './memory-layout'
export { measureRows, setKind } from './measure-rows'
export { rows, sampledRows, sampleEnd } from './sample-rows'
export { PIECE } from './value-hashes'

/** Starts measuring a table with `columns` columns. Call `setKind` afterwards for each column. */
export function start(columns: i32, sampleBytes: i32): void {
  layOut(columns, sampleBytes)
  clearSample()
}

/* A row that is longer than IN is added value by value, and a text that is longer than IN piece by piece. */

let isSampling: bool = false
let pieces: u64 = 0
let counted: i32 = 0

export function startRow(width: i32): void {
  isSampling = isDrawn() && startSampledRow(width)
}

export function endRow(): void {
  if (isSampling) endSampledRow()
}

export function addNull(column: i32): void {
  measureNull(column)
  if (isSampling) sampleNull()
}

/**
 * Adds the value in the first `length` bytes of IN. If it is too short for its type, adds nothing and returns false.
 */
export function addValue(column: i32, length: i32): bool {
  if (length < leastBytesAt(stateOf(column))) return false
  measureValue(column, stateOf(column), IN, length)
  if (isSampling) sampleValue(column, IN, length)
  return true
}

/** Starts a long text. Its first bytes are in IN. */
export function startText(): void {
  memory.copy(LONG_TEXT, IN, <usize>KEPT_BYTES)
  pieces = 0
  counted = 0
}

/** Adds the next PIECE bytes of a long text, or all remaining ones. They are in IN. */
export function addPiece(length: i32): void {
  pieces = chainHashes(pieces, hashBytes(IN, length))
  counted += characters(IN, length)
}

/** Ends a long text of `length` bytes in total. */
export function endText(column: i32, length: i32): void {
  const state = stateOf(column)
  const isJson = kindAt(state) == AS_JSON
  if (isJson) countJson(column, state, pieces)
  else measureCountedText(column, state, LONG_TEXT, length, pieces, counted)
  if (!isSampling) return
  if (isJson) sampleNull()
  else sampleBytes(LONG_TEXT, length, pieces)
}
