import {
  addTo, AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_JSON, AS_REAL, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP,
  INFINITY, kindAt, leastBytesAt, longestAt, NEGATIVE_INFINITY, NO_LENGTH, NOT_A_NUMBER, NULLS, shortestAt, stateOf, widenLengths, widenRange,
} from './column-state'
import { countValue, keepBytes, keepKey, SEEN } from './count-values'
import { columnCount, IN, STATE_BYTES, STATES } from './memory-layout'
import { characters, keepNumeric, keepText } from './min-max-bytes'
import { isDrawn, sampleRow } from './sample-rows'
import { hashBytes, hashNumber, hashNumeric, hashText } from './value-hashes'
import {
  doubleAt, INFINITY_KEY, integerAt, longAt, NAN_KEY, NEGATIVE_INFINITY_KEY, NUMERIC_INFINITY, NUMERIC_NAN, NUMERIC_NEGATIVE_INFINITY,
  realAt, shortAt,
} from './value-keys'

/** Sets the stored type of a column, one of AS_…. */
export function setKind(column: i32, kind: u8): void {
  const state = stateOf(column)
  store<u8>(state, kind)
  store<i32>(state, leastBytesOf(kind), 4)
  store<i32>(state, NO_LENGTH, 40)
  store<i32>(state, -1, 44)
}

/** Returns the minimum number of bytes that measuring a value of this type reads. */
function leastBytesOf(kind: u8): i32 {
  switch (kind) {
    case AS_BOOLEAN:
      return 1
    case AS_SMALLINT:
      return 2
    case AS_INTEGER:
    case AS_DATE:
    case AS_REAL:
      return 4
    case AS_BIGINT:
    case AS_TIMESTAMP:
    case AS_DOUBLE:
    case AS_DECIMAL:
      return 8
  }
  return 0
}

/**
 * Measures the complete rows in binary COPY format in the first `length` bytes of IN. Returns false at the first
 * malformed row: its field count is not the column count, a value is too short for its type, or a value ends after
 * `length`.
 */
export function measureRows(length: i32): bool {
  let at = IN
  const to = IN + <usize>length
  while (at < to) {
    const row = at
    const width = <i32>bswap<u16>(load<u16>(at))
    if (width != columnCount) return false
    at += 2
    let state = STATES
    for (let column = 0; column < width; column++) {
      const bytes = <i32>bswap<u32>(load<u32>(at))
      at += 4
      if (bytes < 0) addTo(state, NULLS)
      else {
        if (bytes > <i32>(to - at) || bytes < leastBytesAt(state)) return false
        measureValue(column, state, at, bytes)
        at += <usize>bytes
      }
      state += STATE_BYTES
    }
    if (at > to) return false
    if (isDrawn()) sampleRow(row, width)
  }
  return true
}

export function measureNull(column: i32): void {
  addTo(stateOf(column), NULLS)
}

@inline export function measureValue(column: i32, state: usize, at: usize, length: i32): void {
  switch (kindAt(state)) {
    case AS_TEXT:
      return measureText(column, state, at, length, hashText(at, length))
    case AS_SMALLINT:
      return measureKey(column, state, shortAt(at))
    case AS_INTEGER:
      return measureKey(column, state, integerAt(at))
    case AS_BIGINT:
      return measureKey(column, state, longAt(at))
    case AS_BOOLEAN:
      return measureKey(column, state, <i64>load<u8>(at))
    case AS_DATE:
      return measureBounded(column, state, integerAt(at), <i64>i32.MIN_VALUE, <i64>i32.MAX_VALUE)
    case AS_TIMESTAMP:
      return measureBounded(column, state, longAt(at), i64.MIN_VALUE, i64.MAX_VALUE)
    case AS_DOUBLE:
      return measureBounded(column, state, doubleAt(at), NEGATIVE_INFINITY_KEY, INFINITY_KEY)
    case AS_REAL:
      return measureBounded(column, state, realAt(at), NEGATIVE_INFINITY_KEY, INFINITY_KEY)
    case AS_DECIMAL:
      return measureNumeric(column, state, at, length)
    case AS_JSON:
      countJson(column, state, hashText(at, length))
  }
}

/** Measures a text. The memory at `at` contains its first 64 bytes, or all its bytes if it is shorter. */
@inline export function measureText(column: i32, state: usize, at: usize, length: i32, hash: u64): void {
  const kept = countValue(column, state, hash)
  if (kept == SEEN) return
  // A character has at most four bytes, so any other text changes neither the minimum nor the maximum length.
  if (length > longestAt(state) || length <= (shortestAt(state) - 1) * 4) widenLengths(state, characters(at, length))
  keepText(state, at, length)
  keepBytes(kept, at, length)
}

/** Measures a text with characters that were counted piece by piece. */
export function measureCountedText(column: i32, state: usize, at: usize, length: i32, hash: u64, count: i32): void {
  const kept = countValue(column, state, hash)
  if (kept == SEEN) return
  widenLengths(state, count)
  keepText(state, at, length)
  keepBytes(kept, at, length)
}

@inline export function countJson(column: i32, state: usize, hash: u64): void {
  countValue(column, state, hash)
}

@inline function measureKey(column: i32, state: usize, key: i64): void {
  const kept = countValue(column, state, hashNumber(key))
  if (kept == SEEN) return
  widenRange(state, key)
  keepKey(kept, key)
}

/**
 * Measures a number or time by its sort key. The keys `least` and `greatest` mean -Infinity and Infinity, and a greater
 * key NaN.
 */
@inline function measureBounded(column: i32, state: usize, key: i64, least: i64, greatest: i64): void {
  const kept = countValue(column, state, hashNumber(key))
  if (key == least) addTo(state, NEGATIVE_INFINITY)
  else if (key >= greatest) addTo(state, key == NAN_KEY && greatest != i64.MAX_VALUE ? NOT_A_NUMBER : INFINITY)
  else if (kept != SEEN) widenRange(state, key)
  if (kept != SEEN) keepKey(kept, key)
}

function measureNumeric(column: i32, state: usize, at: usize, length: i32): void {
  const sign = load<u16>(at, 4)
  const kept = countValue(column, state, hashNumeric(at, length))
  if ((sign & 0x80) != 0) {
    if (sign == NUMERIC_NAN) addTo(state, NOT_A_NUMBER)
    else if (sign == NUMERIC_INFINITY) addTo(state, INFINITY)
    else if (sign == NUMERIC_NEGATIVE_INFINITY) addTo(state, NEGATIVE_INFINITY)
  } else if (kept != SEEN) keepNumeric(state, at, length)
  if (kept != SEEN) keepBytes(kept, at, length)
}
