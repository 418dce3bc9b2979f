import { AS_JSON, typeAt, minBytesAt, stateOf } from './column-state'
import { IN, STORED_BYTES, allocateAreas, LONG_TEXT } from './memory-layout'
import { countCharacters } from './min-max-bytes'
import { countJson, measureLongText, measureNull, measureValue } from './measure-rows'
import { clearSample, endSampledRow, drawRow, sampleBytes, sampleNull, sampleValue, startSampledRow } from './sample-rows'
import { chainHashes, hashBytes } from './value-hashes'

export {
  IN, IN_BYTES, STORED_BYTES, MAX_COUNTED_VALUES, REGISTER_COUNT, registers, sample, SLOT_BYTES, SLOT_COUNT, slots, STATE_BYTES, STATES,
  VALUE_BYTES, values,
} from './memory-layout'
export { measureRows, setColumnType } from './measure-rows'
export { rows, sampledRows, sampleEnd } from './sample-rows'
export { PIECE_BYTES } from './value-hashes'

/** Starts measuring a table with `columns` columns. Call `setColumnType` afterwards for each column. */
export function start(columns: i32, sampleBytes: i32): void {
  allocateAreas(columns, sampleBytes)
  clearSample()
}

/* A row that is longer than IN is added value by value, and a text that is longer than IN piece by piece. */

let isSampling: bool = false
/** The hash and the number of characters of the pieces of the current text until now. */
let hash: u64 = 0
let characters: i32 = 0

export function startRow(width: i32): void {
  isSampling = drawRow() && startSampledRow(width)
}

export function endRow(): void {
  if (isSampling) endSampledRow()
}

export function addNull(column: i32): void {
  measureNull(column)
  if (isSampling) sampleNull()
}

/**
 * Adds the value in the first `length` bytes of IN. Returns false, and adds nothing, if it is too short for its type.
 */
export function addValue(column: i32, length: i32): bool {
  if (length < minBytesAt(stateOf(column))) return false
  measureValue(column, stateOf(column), IN, length)
  if (isSampling) sampleValue(column, IN, length)
  return true
}

/** Starts a long text. Its first bytes are in IN. */
export function startText(): void {
  memory.copy(LONG_TEXT, IN, <usize>STORED_BYTES)
  hash = 0
  characters = 0
}

/** Adds the next PIECE_BYTES bytes of a long text, or all remaining ones. They are in IN. */
export function addPiece(length: i32): void {
  hash = chainHashes(hash, hashBytes(IN, length))
  characters += countCharacters(IN, length)
}

/** Ends a long text of `length` bytes in total. */
export function endText(column: i32, length: i32): void {
  const state = stateOf(column)
  const isJson = typeAt(state) == AS_JSON
  if (isJson) countJson(column, state, hash)
  else measureLongText(column, state, LONG_TEXT, length, hash, characters)
  if (!isSampling) return
  if (isJson) sampleNull()
  else sampleBytes(LONG_TEXT, length, hash)
}
