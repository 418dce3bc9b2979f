import {
  AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_JSON, AS_REAL, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP, typeAt,
  stateOf,
} from './column-state'
import { FIELD_COUNT_BYTES, readValueBytes, STORED_BYTES, sample, sampleLimit, VALUE_LENGTH_BYTES } from './memory-layout'
import { hashNumber, hashNumeric, hashText } from './value-hashes'
import { doubleKey, integerKey, bigintKey, realKey, smallintKey } from './sort-keys'

/*
 * Draws a random sample of the rows, within a fixed number of bytes. Each row has a pseudo-random key, and rows with a
 * key up to a threshold are in the sample. Whenever the sample is full, the threshold is halved and rows above it are
 * removed. So the sample depends neither on the values nor on how the rows are split into chunks.
 *
 * A row in the sample: its size in bytes u32, its key u64, then each value: a tag u8; after the tag KEY an i64; after the
 * tag BYTES the length u32, the hash u64, the number of stored bytes u8, and those bytes.
 */

const NOTHING: u8 = 0
const KEY: u8 = 1
const BYTES: u8 = 2

/** Offsets in a row. */
const ROW_KEY: usize = 4
const ROW_HEADER_BYTES: usize = 12
/** The offset of the value, after the tag KEY. */
const KEY_VALUE: usize = 1
const KEY_END: usize = 9
/** Offsets after the tag BYTES. */
const BYTES_LENGTH: usize = 1
const BYTES_HASH: usize = 5
const BYTES_STORED_LENGTH: usize = 13
const BYTES_STORED: usize = 14
/** The maximum bytes of a value in the sample. */
const MAX_VALUE_BYTES: usize = BYTES_STORED + STORED_BYTES

@inline function rowBytesAt(row: usize): usize { return <usize>load<u32>(row) }
@inline function rowKeyAt(row: usize): u64 { return load<u64>(row, ROW_KEY) }

/** The end of the sample's used memory. */
export let sampleEnd: usize = 0
export let sampledRows: i32 = 0
/** The number of rows until now. */
export let rows: i64 = 0

let threshold: u64 = u64.MAX_VALUE
let drawnKey: u64 = 0
/** The start of the row that is being written, and the position for its next value. */
let rowStart: usize = 0
let nextValue: usize = 0

export function clearSample(): void {
  sampleEnd = sample
  sampledRows = 0
  rows = 0
  threshold = u64.MAX_VALUE
}

/** Counts a row, and draws its key, `drawnKey`. Returns true if the row belongs to the sample. */
@inline export function drawRow(): bool {
  drawnKey = hashNumber(rows++)
  return drawnKey <= threshold
}

/** Adds a row to the sample, after `drawRow` returned true for it. `row` is its position in IN. */
export function sampleRow(row: usize, fieldCount: i32): void {
  if (!startSampledRow(fieldCount)) return
  let at = row + FIELD_COUNT_BYTES
  for (let column = 0; column < fieldCount; column++) {
    const length = readValueBytes(at)
    at += VALUE_LENGTH_BYTES
    const isNull = length < 0
    if (isNull) sampleNull()
    else {
      sampleValue(column, at, length)
      at += <usize>length
    }
  }
  endSampledRow()
}

/**
 * Starts to add the row that `drawRow` drew. Shrinks the sample until the row fits. Returns false if the row does not
 * belong to the shrunk sample, or does not even fit into an empty one.
 */
export function startSampledRow(fieldCount: i32): bool {
  const maxRowBytes = ROW_HEADER_BYTES + <usize>fieldCount * MAX_VALUE_BYTES
  while (sampleEnd + maxRowBytes > sampleLimit) {
    const isEmpty = sampledRows == 0
    if (isEmpty) return false
    halveSample()
  }
  const isOutsideSample = drawnKey > threshold
  if (isOutsideSample) return false
  rowStart = sampleEnd
  nextValue = rowStart + ROW_HEADER_BYTES
  return true
}

export function endSampledRow(): void {
  store<u32>(rowStart, <u32>(nextValue - rowStart))
  store<u64>(rowStart, drawnKey, ROW_KEY)
  sampleEnd = nextValue
  sampledRows++
}

export function sampleNull(): void {
  store<u8>(nextValue++, NOTHING)
}

export function sampleValue(column: i32, at: usize, length: i32): void {
  switch (typeAt(stateOf(column))) {
    case AS_TEXT:
      return sampleBytes(at, length, hashText(at, length))
    case AS_DECIMAL:
      return sampleBytes(at, length, hashNumeric(at, length))
    case AS_SMALLINT:
      return sampleKey(smallintKey(at))
    case AS_INTEGER:
    case AS_DATE:
      return sampleKey(integerKey(at))
    case AS_BIGINT:
    case AS_TIMESTAMP:
      return sampleKey(bigintKey(at))
    case AS_DOUBLE:
      return sampleKey(doubleKey(at))
    case AS_REAL:
      return sampleKey(realKey(at))
    case AS_BOOLEAN:
      return sampleKey(<i64>load<u8>(at))
    case AS_JSON:
      return sampleNull()
  }
}

function sampleKey(key: i64): void {
  store<u8>(nextValue, KEY)
  store<i64>(nextValue, key, KEY_VALUE)
  nextValue += KEY_END
}

/**
 * Adds a value to the sample's current row. The memory at `at` contains its first 64 bytes, or all its bytes if it is
 * shorter.
 */
export function sampleBytes(at: usize, length: i32, hash: u64): void {
  const storedLength = min(length, STORED_BYTES)
  store<u8>(nextValue, BYTES)
  store<u32>(nextValue, length, BYTES_LENGTH)
  store<u64>(nextValue, hash, BYTES_HASH)
  store<u8>(nextValue, <u8>storedLength, BYTES_STORED_LENGTH)
  memory.copy(nextValue + BYTES_STORED, at, <usize>storedLength)
  nextValue += BYTES_STORED + <usize>storedLength
}

/** Removes about half of the rows: halves the threshold, and removes the rows with a greater key. */
function halveSample(): void {
  threshold /= 2
  let keptEnd = sample
  let keptRows = 0
  let row = sample
  while (row < sampleEnd) {
    const rowBytes = rowBytesAt(row)
    const isKept = rowKeyAt(row) <= threshold
    if (isKept) {
      memory.copy(keptEnd, row, rowBytes)
      keptEnd += rowBytes
      keptRows++
    }
    row += rowBytes
  }
  sampleEnd = keptEnd
  sampledRows = keptRows
}
