import { decimalText, floatText } from '../copy-binary/vector-text.ts'
import type { ColumnProfile, FrequentValue, StoredType } from '../row-stream.ts'
import {
  type ColumnValues,
  readExactValues,
  formatStoredBytes,
  type FormattedValue,
  maxDigits,
  type MeasuredColumn,
  readSampledValues,
  type StoredValue,
} from './column-values.ts'
import { encodingOf } from './value-encodings.ts'
import { parseDoubleKey, histogramScale, formatKey, formatNumeric } from './format-values.ts'

/** The measured state of a column, as in assembly/column-state.ts. */
interface ColumnState {
  hasRange: boolean
  hasManyValues: boolean
  countedValues: number
  nulls: number
  minKey: bigint
  maxKey: bigint
  minCharacters: number
  maxCharacters: number
  negativeInfinity: number
  infinity: number
  notANumber: number
  /** The first bytes of minimum and maximum and their full lengths, for a type without sort keys. */
  min: StoredValue
  max: StoredValue
}

/** The offsets in a column's state, as in assembly/column-state.ts. */
const stateOffsets = {
  hasRange: 1,
  hasManyValues: 2,
  countedValues: 3,
  nulls: 8,
  minKey: 16,
  maxKey: 24,
  minLength: 32,
  maxLength: 36,
  minCharacters: 40,
  maxCharacters: 44,
  negativeInfinity: 48,
  infinity: 56,
  notANumber: 64,
  minBytes: 72,
  maxBytes: 136,
}

/** Reads the state of a column from the module's memory. */
function readState({ module, bytes, column }: MeasuredColumn): ColumnState {
  const { STATES, STATE_BYTES, STORED_BYTES } = module
  const address = STATES.value + column * STATE_BYTES.value
  const state = bytes.subarray(address, address + STATE_BYTES.value)
  const readCount = (offset: number) => Number(state.readBigUInt64LE(offset))
  const readStoredValue = (offset: number, length: number): StoredValue => ({
    bytes: state.subarray(offset, offset + Math.min(length, STORED_BYTES.value)),
    length,
  })
  return {
    hasRange: state[stateOffsets.hasRange] === 1,
    hasManyValues: state[stateOffsets.hasManyValues] === 1,
    countedValues: state[stateOffsets.countedValues]!,
    nulls: readCount(stateOffsets.nulls),
    minKey: state.readBigInt64LE(stateOffsets.minKey),
    maxKey: state.readBigInt64LE(stateOffsets.maxKey),
    minCharacters: state.readInt32LE(stateOffsets.minCharacters),
    maxCharacters: state.readInt32LE(stateOffsets.maxCharacters),
    negativeInfinity: readCount(stateOffsets.negativeInfinity),
    infinity: readCount(stateOffsets.infinity),
    notANumber: readCount(stateOffsets.notANumber),
    min: readStoredValue(stateOffsets.minBytes, state.readUInt32LE(stateOffsets.minLength)),
    max: readStoredValue(stateOffsets.maxBytes, state.readUInt32LE(stateOffsets.maxLength)),
  }
}

/**
 * Returns the profile (statistics) of a column from the module's state. If the column has many distinct values and the
 * sample lacks rows, the frequent values and the histogram are estimates from the sample. JSON has only counts.
 */
export function profileColumn(column: MeasuredColumn): Omit<ColumnProfile, 'column'> {
  const { type, rows, sample } = column
  const state = readState(column)
  const { nulls, hasManyValues, minCharacters, maxCharacters } = state
  const encoding = encodingOf(type.dataType)
  const scaledColumn = { ...column, histogramScale: chooseHistogramScale(state, type) }
  if (encoding === 'JSONB') return { nulls, ...countDistinct(scaledColumn, state, undefined) }

  const values = hasManyValues ? readSampledValues(scaledColumn) : readExactValues(scaledColumn)
  const isExact = !hasManyValues || sample.isComplete
  const nonNullCount = rows - nulls
  const notFiniteCount = state.negativeInfinity + state.infinity + state.notANumber
  const finiteCount = nonNullCount - notFiniteCount
  const isNumberOrTime = encoding !== 'TEXT' && encoding !== 'BOOLEAN'
  const range = isNumberOrTime ? finiteRange(state, scaledColumn) : undefined
  const histogram = range && createHistogram(range, values, finiteCount, scaledColumn)
  const hasTexts = encoding === 'TEXT' && maxCharacters >= 0
  return {
    nulls,
    ...countDistinct(scaledColumn, state, isExact ? values : undefined),
    ...formatExtremes(state, scaledColumn),
    ...(hasTexts && { minLength: minCharacters, maxLength: maxCharacters }),
    ...(notFiniteCount > 0 && { notFinite: notFiniteCount }),
    ...(nonNullCount > 0 && { frequentValues: listFrequentValues(values, nonNullCount, isExact) }),
    ...(histogram && { histogram }),
    ...(!isExact && { sampledRows: sample.rows }),
  }
}

/**
 * Returns the number of distinct values. It is exact if the column has few of them or `allValues` is defined. Otherwise
 * it is an estimate.
 */
function countDistinct(
  { module, bytes, column, rows }: MeasuredColumn,
  { hasManyValues, countedValues, nulls }: ColumnState,
  allValues: ColumnValues | undefined,
): Pick<ColumnProfile, 'distinct' | 'isEstimate'> {
  if (!hasManyValues) return { distinct: countedValues }
  if (allValues) return { distinct: allValues.counts.length }
  const { registers, REGISTER_COUNT } = module
  const address = registers.value + column * REGISTER_COUNT.value
  const estimate = estimateDistinct(bytes.subarray(address, address + REGISTER_COUNT.value))
  // The estimate can exceed the number of values.
  return { distinct: Math.min(estimate, rows - nulls), isEstimate: true }
}

/**
 * Returns HyperLogLog's estimate of the number of distinct values. For few values, estimates from the number of empty
 * registers instead. With 1,024 registers, the standard error is 3.3 %.
 */
function estimateDistinct(registers: Uint8Array): number {
  const registerCount = registers.length
  let inverseSum = 0
  let emptyCount = 0
  for (const rank of registers) {
    inverseSum += 2 ** -rank
    if (rank === 0) emptyCount++
  }
  // The constants 0.7213, 1.079 and 2.5 are those of the HyperLogLog paper.
  const biasCorrection = 0.7213 / (1 + 1.079 / registerCount)
  const estimate = (biasCorrection * registerCount * registerCount) / inverseSum
  const hasFewValues = estimate <= 2.5 * registerCount && emptyCount > 0
  const linearCount = registerCount * Math.log(registerCount / emptyCount)
  return Math.round(hasFewValues ? linearCount : estimate)
}

/**
 * Returns the minimum and maximum as text, or no fields for a column without values. As in PostgreSQL, NaN is the
 * largest.
 */
function formatExtremes(
  state: ColumnState,
  { type }: MeasuredColumn,
): Pick<ColumnProfile, 'min' | 'max' | 'minBytes' | 'maxBytes'> {
  const isStoredAsBytes = ['TEXT', 'DECIMAL'].includes(encodingOf(type.dataType))
  const formatExtreme = (key: bigint, { bytes, length }: StoredValue): FormattedValue =>
    isStoredAsBytes ? formatStoredBytes(bytes, length, type) : { text: formatKey(key, type.dataType) }
  const isTime = ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ'].includes(type.dataType)
  const infinityText = isTime ? 'infinity' : 'Infinity'
  const orderedValues: FormattedValue[] = [
    ...(state.negativeInfinity > 0 ? [{ text: `-${infinityText}` }] : []),
    ...(state.hasRange ? [formatExtreme(state.minKey, state.min), formatExtreme(state.maxKey, state.max)] : []),
    ...(state.infinity > 0 ? [{ text: infinityText }] : []),
    ...(state.notANumber > 0 ? [{ text: 'NaN' }] : []),
  ]
  const [min, max] = [orderedValues[0], orderedValues.at(-1)]
  if (!min || !max) return {}
  return {
    min: min.text,
    max: max.text,
    ...(min.bytes !== undefined && { minBytes: min.bytes }),
    ...(max.bytes !== undefined && { maxBytes: max.bytes }),
  }
}

const chooseHistogramScale = ({ hasRange, min, max }: ColumnState, { dataType, scale }: StoredType) =>
  hasRange && dataType === 'DECIMAL' ? histogramScale([min.bytes, max.bytes], scale) : undefined

/**
 * Returns the finite range of a column of numbers or times. Returns undefined without a finite value, or if a decimal
 * has too many digits.
 */
function finiteRange(
  { hasRange, minKey, maxKey, min, max }: ColumnState,
  { type, histogramScale: scale }: MeasuredColumn,
): ValueRange | undefined {
  if (!hasRange) return undefined
  if (type.dataType === 'DOUBLE' || type.dataType === 'FLOAT')
    return { min: parseDoubleKey(minKey), max: parseDoubleKey(maxKey) }
  if (type.dataType !== 'DECIMAL') return { min: minKey, max: maxKey }
  if (scale === undefined) return undefined
  // 1.50 at scale 2 becomes 150.
  const parseUnscaled = (bytes: Buffer) => BigInt(formatNumeric(bytes, scale).replace('.', ''))
  const range = { min: parseUnscaled(min.bytes), max: parseUnscaled(max.bytes) }
  // A source can send base-10,000 digits above 9,999, which break the sort order.
  return range.min <= range.max ? range : undefined
}

const maxFrequentValues = 10

/**
 * Returns the most frequent values. If `values` are only a sample, the counts are estimates with the count in the
 * sample as the lower bound. Values that occur once in a sample are left out, because they need not be frequent.
 */
function listFrequentValues({ counts, format }: ColumnValues, nonNullCount: number, isExact: boolean): FrequentValue[] {
  const countedValues = counts.reduce((sum, count) => sum + count, 0)
  const indexes = counts
    .map((_, index) => index)
    .filter((index) => isExact || counts[index]! > 1)
    .toSorted((one, other) => counts[other]! - counts[one]! || one - other)
  return indexes.slice(0, maxFrequentValues).map((index) => {
    const { text, bytes } = format(index)
    const count = counts[index]!
    return {
      value: text,
      ...(bytes !== undefined && { bytes }),
      rows: isExact ? count : Math.round((count * nonNullCount) / countedValues),
      ...(!isExact && { atLeast: count }),
    }
  })
}

/**
 * Buckets of equal width between minimum and maximum. Bucket `i` contains the values from `bounds[i]` to below
 * `bounds[i + 1]`; the last bucket includes both bounds. The sum of `rows` is the number of finite values.
 */
interface Histogram {
  bounds: string[]
  rows: number[]
}

const maxBuckets = 20

/** Minimum and maximum, either as integers on the scale of `ColumnValues.numbers` or as floats. */
type ValueRange = IntegerRange | FloatRange
type IntegerRange = { min: bigint; max: bigint }
type FloatRange = { min: number; max: number }

/**
 * Returns the histogram of a column's finite values in `range`. The values can be a sample: their counts per bucket are
 * scaled so that their sum is `finiteCount`, the number of finite values of the column. Returns undefined if no value
 * is finite.
 */
function createHistogram(
  range: ValueRange,
  { counts, numbers }: ColumnValues,
  finiteCount: number,
  column: MeasuredColumn,
): Histogram | undefined {
  const isIntegerRange = typeof range.min === 'bigint'
  const bounds = isIntegerRange ? integerBounds(range as IntegerRange) : floatBounds(range as FloatRange)
  const bucketStarts = bounds.slice(0, -1).map(Number)
  const bucketCounts = bucketStarts.map(() => 0)
  for (const [valueIndex, number] of numbers.entries()) {
    const isFinite = !Number.isNaN(number)
    if (isFinite) bucketCounts[findBucket(bucketStarts, number)]! += counts[valueIndex]!
  }
  const scaledCounts = scaleCounts(bucketCounts, finiteCount)
  return scaledCounts && { bounds: bounds.map((bound) => formatBound(bound, column)), rows: scaledCounts }
}

/**
 * Returns the bounds of at most 20 buckets of integers: one more than the number of buckets, in ascending order. A range of
 * fewer integers has one bucket for each integer.
 */
function integerBounds({ min, max }: IntegerRange): bigint[] {
  const size = max - min + 1n
  const bucketCount = size < BigInt(maxBuckets) ? size : BigInt(maxBuckets)
  const starts = Array.from({ length: Number(bucketCount) }, (_, index) => min + (size * BigInt(index)) / bucketCount)
  return [...starts, max]
}

/** Returns the bounds of at most 20 buckets of floats. A range of one value has one bucket. */
function floatBounds({ min, max }: FloatRange): number[] {
  if (min === max) return [min, max]
  // The difference of maximum and minimum can overflow, so each is multiplied separately.
  const innerBounds = Array.from({ length: maxBuckets - 1 }, (_, index) => {
    const share = (index + 1) / maxBuckets
    return min * (1 - share) + max * share
  })
  // In a very narrow range, bounds are rounded to the same double, which gives fewer buckets.
  const distinctBounds = new Set(innerBounds.filter((bound) => bound > min && bound < max))
  return [min, ...distinctBounds, max]
}

/** Returns the index of the last bucket that starts at or before a number, or 0 if none does. */
function findBucket(bucketStarts: readonly number[], number: number): number {
  let [low, high] = [0, bucketStarts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (bucketStarts[middle]! <= number) low = middle
    else high = middle - 1
  }
  return low
}

/** Formats a bound of the histogram as PostgreSQL prints a value of the column's type. */
function formatBound(
  bound: bigint | number,
  { type: { dataType }, histogramScale: scale = 0 }: MeasuredColumn,
): string {
  if (typeof bound === 'number') return floatText(bound, dataType === 'FLOAT' ? 'FLOAT' : 'DOUBLE')
  return dataType === 'DECIMAL' ? decimalText(bound, scale).slice(0, maxDigits) : formatKey(bound, dataType)
}

/**
 * Scales counts so that their sum is `targetTotal`. Rounds down, and adds the remaining units to the counts with the
 * largest remainders. Returns undefined if all counts are 0.
 */
function scaleCounts(counts: readonly number[], targetTotal: number): number[] | undefined {
  const sum = counts.reduce((one, other) => one + other, 0)
  if (sum === 0) return undefined
  const exactCounts = counts.map((count) => (count * targetTotal) / sum)
  const scaledCounts = exactCounts.map(Math.floor)
  const remainingUnits = targetTotal - scaledCounts.reduce((one, other) => one + other, 0)
  const byRemainder = exactCounts
    .map((exactCount, index) => ({ index, remainder: exactCount - scaledCounts[index]! }))
    .toSorted((one, other) => other.remainder - one.remainder)
  for (const { index } of byRemainder.slice(0, remainingUnits)) scaledCounts[index]! += 1
  return scaledCounts
}
