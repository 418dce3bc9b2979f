import {
  AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_JSON, AS_REAL, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP, kindAt,
  stateOf,
} from './column-state'
import { KEPT_BYTES, sample, sampleLimit } from './memory-layout'
import { hashNumber, hashNumeric, hashText } from './value-hashes'
import { doubleAt, integerAt, longAt, realAt, shortAt } from './value-keys'

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
const ROW_HEAD: usize = 12
/** The maximum bytes of a value in the sample. */
const MOST_BYTES: usize = 14 + KEPT_BYTES

/** The end of the sample's used memory. */
export let sampleEnd: usize = 0
export let sampledRows: i32 = 0
/** The number of rows until now. */
export let rows: i64 = 0

let threshold: u64 = u64.MAX_VALUE
let drawnKey: u64 = 0
/** The start of the row that is being written, and the position for its next value. */
let rowAt: usize = 0
let valueAt: usize = 0

export function clearSample(): void {
  sampleEnd = sample
  sampledRows = 0
  rows = 0
  threshold = u64.MAX_VALUE
}

/** Counts a row. Returns true if it belongs to the random sample. */
@inline export function isDrawn(): bool {
  drawnKey = hashNumber(rows++)
  return drawnKey <= threshold
}

/** Adds the row for which `isDrawn` returned true. `row` is its position in IN. */
export function sampleRow(row: usize, width: i32): void {
  if (!startSampledRow(width)) return
  let at = row + 2
  for (let column = 0; column < width; column++) {
    const length = <i32>bswap<u32>(load<u32>(at))
    at += 4
    if (length < 0) sampleNull()
    else {
      sampleValue(column, at, length)
      at += <usize>length
    }
  }
  endSampledRow()
}

/** Shrinks the sample until the drawn row fits. Returns false if the row does not belong to the smaller sample. */
export function startSampledRow(width: i32): bool {
  const most = ROW_HEAD + <usize>width * MOST_BYTES
  while (sampleEnd + most > sampleLimit) {
    if (sampledRows == 0) return false
    halve()
  }
  if (drawnKey > threshold) return false
  rowAt = sampleEnd
  valueAt = rowAt + ROW_HEAD
  return true
}

export function endSampledRow(): void {
  store<u32>(rowAt, <u32>(valueAt - rowAt))
  store<u64>(rowAt, drawnKey, 4)
  sampleEnd = valueAt
  sampledRows++
}

export function sampleNull(): void {
  store<u8>(valueAt++, NOTHING)
}

export function sampleValue(column: i32, at: usize, length: i32): void {
  switch (kindAt(stateOf(column))) {
    case AS_TEXT:
      return sampleBytes(at, length, hashText(at, length))
    case AS_DECIMAL:
      return sampleBytes(at, length, hashNumeric(at, length))
    case AS_SMALLINT:
      return sampleKey(shortAt(at))
    case AS_INTEGER:
    case AS_DATE:
      return sampleKey(integerAt(at))
    case AS_BIGINT:
    case AS_TIMESTAMP:
      return sampleKey(longAt(at))
    case AS_DOUBLE:
      return sampleKey(doubleAt(at))
    case AS_REAL:
      return sampleKey(realAt(at))
    case AS_BOOLEAN:
      return sampleKey(<i64>load<u8>(at))
    case AS_JSON:
      return sampleNull()
  }
}

function sampleKey(key: i64): void {
  store<u8>(valueAt, KEY)
  store<i64>(valueAt, key, 1)
  valueAt += 9
}

/**
 * Adds a value to the sample's current row. The memory at `at` contains its first 64 bytes, or all its bytes if it is
 * shorter.
 */
export function sampleBytes(at: usize, length: i32, hash: u64): void {
  const kept = min(length, KEPT_BYTES)
  store<u8>(valueAt, BYTES)
  store<u32>(valueAt, length, 1)
  store<u64>(valueAt, hash, 5)
  store<u8>(valueAt, <u8>kept, 13)
  memory.copy(valueAt + 14, at, <usize>kept)
  valueAt += 14 + <usize>kept
}

function halve(): void {
  threshold >>>= 1
  let to = sample
  let left = 0
  for (let from = sample; from < sampleEnd; ) {
    const bytes = <usize>load<u32>(from)
    if (load<u64>(from, 4) <= threshold) {
      memory.copy(to, from, bytes)
      to += bytes
      left++
    }
    from += bytes
  }
  sampleEnd = to
  sampledRows = left
}
