import {
  incrementCounter, AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_JSON, AS_REAL, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP,
  INFINITY, initializeState, typeAt, minBytesAt, maxCharactersAt, NEGATIVE_INFINITY, NOT_A_NUMBER, NULLS, minCharactersAt, stateOf,
  widenCharacterRange, widenRange,
} from './column-state'
import { countValue, storeBytes, storeKey, COUNTED_BEFORE } from './count-values'
import {
  columnCount, FIELD_COUNT_BYTES, IN, readFieldCount, readValueBytes, STATE_BYTES, STATES, VALUE_LENGTH_BYTES,
} from './memory-layout'
import { countCharacters, updateNumericRange, updateTextRange } from './min-max-bytes'
import { drawRow, sampleRow } from './sample-rows'
import { hashBytes, hashNumber, hashNumeric, hashText } from './value-hashes'
import {
  doubleKey, INFINITY_KEY, integerKey, bigintKey, isFiniteSign, NEGATIVE_INFINITY_KEY, NUMERIC_INFINITY, NUMERIC_NAN,
  NUMERIC_NEGATIVE_INFINITY, numericSign, realKey, smallintKey,
} from './sort-keys'

/** Sets the stored type of a column, one of AS_…. */
export function setColumnType(column: i32, type: u8): void {
  initializeState(stateOf(column), type, minValueBytes(type))
}

/** Returns the minimum number of bytes of a value of this type. A shorter value is malformed. */
function minValueBytes(type: u8): i32 {
  switch (type) {
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
 * Measures the rows in binary COPY format in the first `length` bytes of IN. Returns false at a malformed row: one with
 * another number of fields, with a value that is too short for its type, or with a value that ends after `length`.
 */
export function measureRows(length: i32): bool {
  let at = IN
  const end = IN + <usize>length
  while (at < end) {
    const row = at
    const fieldCount = readFieldCount(at)
    if (fieldCount != columnCount) return false
    at += FIELD_COUNT_BYTES
    let state = STATES
    for (let column = 0; column < fieldCount; column++) {
      const valueBytes = readValueBytes(at)
      at += VALUE_LENGTH_BYTES
      const isNull = valueBytes < 0
      if (isNull) incrementCounter(state, NULLS)
      else {
        const endsTooLate = valueBytes > <i32>(end - at)
        const isTooShort = valueBytes < minBytesAt(state)
        if (endsTooLate || isTooShort) return false
        measureValue(column, state, at, valueBytes)
        at += <usize>valueBytes
      }
      state += STATE_BYTES
    }
    if (at > end) return false
    const isInSample = drawRow()
    if (isInSample) sampleRow(row, fieldCount)
  }
  return true
}

export function measureNull(column: i32): void {
  incrementCounter(stateOf(column), NULLS)
}

@inline export function measureValue(column: i32, state: usize, at: usize, length: i32): void {
  switch (typeAt(state)) {
    case AS_TEXT:
      return measureText(column, state, at, length, hashText(at, length))
    case AS_SMALLINT:
      return measureKey(column, state, smallintKey(at))
    case AS_INTEGER:
      return measureKey(column, state, integerKey(at))
    case AS_BIGINT:
      return measureKey(column, state, bigintKey(at))
    case AS_BOOLEAN:
      return measureKey(column, state, <i64>load<u8>(at))
    case AS_DATE:
      return measureKeyOrInfinity(column, state, integerKey(at), <i64>i32.MIN_VALUE, <i64>i32.MAX_VALUE)
    case AS_TIMESTAMP:
      return measureKeyOrInfinity(column, state, bigintKey(at), i64.MIN_VALUE, i64.MAX_VALUE)
    case AS_DOUBLE:
      return measureKeyOrInfinity(column, state, doubleKey(at), NEGATIVE_INFINITY_KEY, INFINITY_KEY)
    case AS_REAL:
      return measureKeyOrInfinity(column, state, realKey(at), NEGATIVE_INFINITY_KEY, INFINITY_KEY)
    case AS_DECIMAL:
      return measureNumeric(column, state, at, length)
    case AS_JSON:
      countJson(column, state, hashText(at, length))
  }
}

/** Measures a text. The memory at `at` contains its first 64 bytes, or all its bytes if it is shorter. */
@inline export function measureText(column: i32, state: usize, at: usize, length: i32, hash: u64): void {
  const address = countValue(column, state, hash)
  if (address == COUNTED_BEFORE) return
  // A character has one to four bytes, so the characters of most texts need not be counted.
  const mayBeLongest = length > maxCharactersAt(state)
  const mayBeShortest = length <= (minCharactersAt(state) - 1) * 4
  if (mayBeLongest || mayBeShortest) widenCharacterRange(state, countCharacters(at, length))
  updateTextRange(state, at, length)
  storeBytes(address, at, length)
}

/** Measures a text that is longer than IN. Its characters were counted piece by piece. */
export function measureLongText(column: i32, state: usize, at: usize, length: i32, hash: u64, characters: i32): void {
  const address = countValue(column, state, hash)
  if (address == COUNTED_BEFORE) return
  widenCharacterRange(state, characters)
  updateTextRange(state, at, length)
  storeBytes(address, at, length)
}

@inline export function countJson(column: i32, state: usize, hash: u64): void {
  countValue(column, state, hash)
}

@inline function measureKey(column: i32, state: usize, key: i64): void {
  const address = countValue(column, state, hashNumber(key))
  if (address == COUNTED_BEFORE) return
  widenRange(state, key)
  storeKey(address, key)
}

/**
 * Measures a number or time by its sort key. `negativeInfinity` and `infinity` are the keys of the infinite values. A
 * key greater than `infinity` means NaN.
 */
@inline function measureKeyOrInfinity(column: i32, state: usize, key: i64, negativeInfinity: i64, infinity: i64): void {
  const address = countValue(column, state, hashNumber(key))
  const isNew = address != COUNTED_BEFORE
  if (key == negativeInfinity) incrementCounter(state, NEGATIVE_INFINITY)
  else if (key == infinity) incrementCounter(state, INFINITY)
  else if (key > infinity) incrementCounter(state, NOT_A_NUMBER)
  else if (isNew) widenRange(state, key)
  if (isNew) storeKey(address, key)
}

/** Measures a value in PostgreSQL's binary numeric format. */
function measureNumeric(column: i32, state: usize, at: usize, length: i32): void {
  const address = countValue(column, state, hashNumeric(at, length))
  const isNew = address != COUNTED_BEFORE
  const sign = numericSign(at)
  if (isFiniteSign(sign)) {
    if (isNew) updateNumericRange(state, at, length)
  } else if (sign == NUMERIC_NAN) incrementCounter(state, NOT_A_NUMBER)
  else if (sign == NUMERIC_INFINITY) incrementCounter(state, INFINITY)
  else if (sign == NUMERIC_NEGATIVE_INFINITY) incrementCounter(state, NEGATIVE_INFINITY)
  if (isNew) storeBytes(address, at, length)
}
