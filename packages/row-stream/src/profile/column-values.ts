import type { StoredType } from '../row-stream.ts'
import type { ProfilerModule } from './wasm-profiler.ts'
import type { ColumnSample } from './row-sample.ts'
import { encodingOf } from './value-encodings.ts'
import { parseDoubleKey, formatKey, formatNumeric, toUnscaledNumber, decodeWholeCharacters } from './format-values.ts'

/** A value as PostgreSQL prints it. A longer value is truncated to 64 bytes; `bytes` is then its full length. */
export interface FormattedValue {
  text: string
  bytes?: number
}

/** The distinct values of a column, without nulls. `counts` and `numbers` have an entry for each value. */
export interface ColumnValues {
  counts: number[]
  /**
   * Each value as a number for the histogram: decimals without their point, days, microseconds. NaN for values without
   * a number.
   */
  numbers: number[]
  /** Formats a value for the profile. */
  format(index: number): FormattedValue
}

export interface MeasuredColumn {
  module: ProfilerModule
  /** The memory of the WebAssembly module. */
  bytes: Buffer
  column: number
  type: StoredType
  /** The number of rows of the table. */
  rows: number
  sample: ColumnSample
  /** The number of decimal places of a DECIMAL column in its histogram. Undefined if it has no histogram. */
  histogramScale?: number | undefined
}

/** A value of which at most the first 64 bytes are stored. `length` is its full length in bytes. */
export interface StoredValue {
  bytes: Buffer
  length: number
}

/** The offset of a slot's count, and the bits of the count. The higher bits are the number of the stored value. */
const countOffset = 8
const countBits = 56n
const countMask = (1n << countBits) - 1n

/**
 * Reads the distinct values and their counts from the module's hash table (see assembly/count-values.ts), which
 * contains all of them if the column has only few.
 */
export function readExactValues(measured: MeasuredColumn): ColumnValues {
  const { module, bytes, column, type } = measured
  const { slots, SLOT_COUNT, SLOT_BYTES } = module
  const counts: number[] = []
  const storedValues: StoredValue[] = []
  for (let index = 0; index < SLOT_COUNT.value; index++) {
    const slot = slots.value + (column * SLOT_COUNT.value + index) * SLOT_BYTES.value
    const numberAndCount = bytes.readBigUInt64LE(slot + countOffset)
    const isEmptySlot = numberAndCount === 0n
    if (isEmptySlot) continue
    counts.push(Number(numberAndCount & countMask))
    storedValues.push(readStoredValue(measured, Number(numberAndCount >> countBits)))
  }
  if (!isStoredAsKey(type)) return createByteValues(storedValues, counts, measured)
  const keys = storedValues.map((storedValue) => storedValue.bytes.readBigInt64LE(0))
  return createKeyValues(keys, counts, type)
}

/** Reads a counted value of a column: its length (4 bytes), then its first bytes. */
function readStoredValue({ module, bytes, column }: MeasuredColumn, valueNumber: number): StoredValue {
  const { values, MAX_COUNTED_VALUES, VALUE_BYTES, STORED_BYTES } = module
  const address = values.value + (column * MAX_COUNTED_VALUES.value + valueNumber) * VALUE_BYTES.value
  const length = bytes.readUInt32LE(address)
  const start = address + 4
  return { bytes: bytes.subarray(start, start + Math.min(length, STORED_BYTES.value)), length }
}

/** Returns a column's values in the sample. */
export function readSampledValues(measured: MeasuredColumn): ColumnValues {
  return isStoredAsKey(measured.type) ? countSampledKeys(measured.sample, measured.type) : countSampledBytes(measured)
}

/** True if the module stores the values of this type as sort keys of fixed size. */
const isStoredAsKey = ({ dataType }: StoredType) => !['TEXT', 'DECIMAL', 'JSONB'].includes(encodingOf(dataType))

/** Counts the distinct sort keys in the sample. Sorts them in place. */
function countSampledKeys({ keys }: ColumnSample, type: StoredType): ColumnValues {
  keys.sort()
  const distinctKeys: bigint[] = []
  const counts: number[] = []
  for (const key of keys) {
    if (key === distinctKeys.at(-1)) {
      counts[counts.length - 1]! += 1
      continue
    }
    distinctKeys.push(key)
    counts.push(1)
  }
  return createKeyValues(distinctKeys, counts, type)
}

/** Counts the distinct texts or numerics in the sample. Values with the same hash count as equal. */
function countSampledBytes(measured: MeasuredColumn): ColumnValues {
  const { bytes } = measured
  const indexByHash = new Map<bigint, number>()
  const counts: number[] = []
  const storedValues: StoredValue[] = []
  for (const { hash, address, storedBytes, length } of measured.sample.texts) {
    const index = indexByHash.get(hash)
    if (index !== undefined) {
      counts[index]! += 1
      continue
    }
    indexByHash.set(hash, counts.length)
    counts.push(1)
    storedValues.push({ bytes: bytes.subarray(address, address + storedBytes), length })
  }
  return createByteValues(storedValues, counts, measured)
}

const createKeyValues = (keys: bigint[], counts: number[], type: StoredType): ColumnValues => ({
  counts,
  numbers: keys.map((key) => keyToNumber(key, type)),
  format: (index) => ({ text: formatKey(keys[index]!, type.dataType) }),
})

const createByteValues = (
  storedValues: StoredValue[],
  counts: number[],
  { type, histogramScale: scale }: MeasuredColumn,
): ColumnValues => ({
  counts,
  numbers: scale === undefined ? [] : storedValues.map(({ bytes }) => toUnscaledNumber(bytes, scale)),
  format: (index) => formatStoredBytes(storedValues[index]!.bytes, storedValues[index]!.length, type),
})

/** The maximum digits of a shown numeric, because a numeric of few bytes can have thousands. */
export const maxDigits = 200

/**
 * Formats a text or numeric of which at most the first 64 bytes are stored. `length` is its full length in bytes. The
 * result contains this length if the value is truncated.
 */
export function formatStoredBytes(
  storedBytes: Buffer,
  length: number,
  { dataType, scale }: StoredType,
): FormattedValue {
  const isStoredPartly = length > storedBytes.length
  if (dataType !== 'DECIMAL')
    return { text: decodeWholeCharacters(storedBytes), ...(isStoredPartly && { bytes: length }) }
  const digits = formatNumeric(storedBytes, scale, maxDigits)
  const text = digits.slice(0, maxDigits)
  const isTruncated = isStoredPartly || text.length < digits.length
  return { text, ...(isTruncated && { bytes: length }) }
}

/** The sort keys of -infinity and infinity in PostgreSQL. */
const infiniteDates = new Set([-0x80000000n, 0x7fffffffn])
const infiniteTimestamps = new Set([-0x8000000000000000n, 0x7fffffffffffffffn])

/** Converts a sort key to a number; NaN if it is not finite. Keys beyond 2^53 are rounded. */
function keyToNumber(key: bigint, { dataType }: StoredType): number {
  switch (dataType) {
    case 'DOUBLE':
    case 'FLOAT':
      return Number.isFinite(parseDoubleKey(key)) ? parseDoubleKey(key) : Number.NaN
    case 'DATE':
      return infiniteDates.has(key) ? Number.NaN : Number(key)
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return infiniteTimestamps.has(key) ? Number.NaN : Number(key)
    default:
      return Number(key)
  }
}
