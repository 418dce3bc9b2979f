import type { DataType } from '@sluice/contracts'
import {
  type BooleanVector,
  type BytesVector,
  type ColumnVector,
  type DateVector,
  type DecimalVector,
  type FloatingVector,
  type IntegerVector,
  type TimestampVector,
  timeText,
  integerOfHalves,
} from '@sluice/row-stream'
import { parseFloat16 } from 'hyparquet/src/convert.js'
import type { ValueFormat, LeafType } from './schema.ts'
import type { ByteValues, DecodedValues, FixedValues } from './decode-values.ts'

/** Receives reports about individual values while a vector is filled. */
export interface ConversionReporter {
  /** The warehouse cannot store the value of the row. */
  reportFault(row: number, reason: string): void
  /** Digits of a value were cut off, because the warehouse does not store them. */
  reportTruncation(): void
}

/**
 * Writes values to the first `count` rows of a vector. `valueIndexes` has the index of each row's value in `values`, or
 * -1 for a null, which the caller has already marked in the vector.
 */
export type FillFunction = (
  values: DecodedValues,
  valueIndexes: Int32Array,
  count: number,
  vector: ColumnVector,
  reporter: ConversionReporter,
) => void

/** Writes the value at byte `position` to one row of a vector. */
type FillRow<V> = (values: FixedValues, position: number, vector: V, row: number, reporter: ConversionReporter) => void

/** Returns the function that fills a vector of type `dataType`, which is the type of the leaf or a wider one. */
export function createFillFunction(type: LeafType, dataType: DataType): FillFunction {
  const { format } = type
  switch (format.name) {
    case 'text':
    case 'json':
    case 'text-or-hex':
      return fillBytes
    case 'hex':
    case 'uuid':
    case 'interval':
    case 'time':
      return createTextFill(type)
    case 'decimal-bytes':
      return createDecimalBytesFill(type, format.maxDigits)
    case 'decimal32':
      return createFixedFill(4, createDecimalFill(format.name, format.maxDigits))
    case 'decimal64':
    case 'unsigned64':
      return createFixedFill(8, createDecimalFill(format.name, format.maxDigits))
    default: {
      const { valueWidth, fillRow } = chooseFixedFill(format, dataType)
      return createFixedFill(valueWidth, fillRow)
    }
  }
}

function createFixedFill<V extends ColumnVector>(valueWidth: number, fillRow: FillRow<V>): FillFunction {
  return (values, valueIndexes, count, vector, reporter) => {
    for (let row = 0; row < count; row++) {
      const valueIndex = valueIndexes[row]!
      const isNull = valueIndex < 0
      if (!isNull) fillRow(values as FixedValues, valueIndex * valueWidth, vector as V, row, reporter)
    }
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- schema.ts gives each value format its kind of vector
type FillRowOfAnyVector = FillRow<any>

/** Returns the width in bytes of a value of fixed width, and the function that writes one such value to a vector. */
function chooseFixedFill(format: ValueFormat, dataType: DataType): { valueWidth: number; fillRow: FillRowOfAnyVector } {
  switch (format.name) {
    case 'boolean':
      return { valueWidth: 1, fillRow: fillBoolean }
    case 'int32':
      return { valueWidth: 4, fillRow: fillInt32 }
    case 'small-int':
      return { valueWidth: 4, fillRow: createSmallIntFill(format.min, format.max) }
    case 'uint32':
      return { valueWidth: 4, fillRow: fillUnsigned32 }
    case 'int64':
      return { valueWidth: 8, fillRow: fillInt64 }
    case 'float16':
      return { valueWidth: 2, fillRow: fillFloat16 }
    case 'float':
      return { valueWidth: 4, fillRow: fillFloat }
    case 'double':
      return { valueWidth: 8, fillRow: fillDouble }
    case 'date': {
      const isStoredAsTimestamp = dataType === 'TIMESTAMP' || dataType === 'TIMESTAMPTZ'
      return { valueWidth: 4, fillRow: createDateFill(isStoredAsTimestamp ? timestampEndDay : dateEndDay) }
    }
    case 'timestamp':
      return { valueWidth: 8, fillRow: createTimestampFill(format.unitsPerSecond) }
    case 'int96':
      return { valueWidth: 12, fillRow: fillInt96 }
    default:
      throw new Error(`${format.name} is not of fixed width`)
  }
}

const fillBoolean: FillRow<BooleanVector> = ({ bytes }, position, vector, row) => {
  vector.bits[row] = bytes[position]!
}

const fillInt32: FillRow<IntegerVector> = ({ view }, position, vector, row) => {
  const value = view.getInt32(position, true)
  vector.low[row] = value
  vector.high[row] = value >> 31
}

const createSmallIntFill =
  (min: number, max: number): FillRow<IntegerVector> =>
  ({ view }, position, vector, row, reporter) => {
    const value = view.getInt32(position, true)
    vector.low[row] = value
    vector.high[row] = value >> 31
    if (value < min || value > max) reporter.reportFault(row, `is ${value}, but its column allows ${min} to ${max}`)
  }

const fillUnsigned32: FillRow<IntegerVector> = ({ view }, position, vector, row) => {
  vector.low[row] = view.getInt32(position, true)
  vector.high[row] = 0
}

const fillInt64: FillRow<IntegerVector> = ({ view }, position, vector, row) => {
  vector.low[row] = view.getInt32(position, true)
  vector.high[row] = view.getInt32(position + 4, true)
}

const fillFloat: FillRow<FloatingVector> = ({ view }, position, vector, row) => {
  vector.values[row] = view.getFloat32(position, true)
}

const fillDouble: FillRow<FloatingVector> = ({ view }, position, vector, row) => {
  vector.values[row] = view.getFloat64(position, true)
}

const fillFloat16: FillRow<FloatingVector> = ({ bytes }, position, vector, row) => {
  vector.values[row] = parseFloat16(bytes.subarray(position, position + 2))!
}

const createDateFill =
  (endDay: number): FillRow<DateVector> =>
  ({ view }, position, vector, row, reporter) => {
    const days = view.getInt32(position, true)
    vector.days[row] = days
    if (days < minDay || days >= endDay) reporter.reportFault(row, describeOutOfRange(days, 'days'))
  }

const unitNames = { 1_000: 'milliseconds', 1_000_000: 'microseconds', 1_000_000_000: 'nanoseconds' }

const createTimestampFill =
  (unitsPerSecond: keyof typeof unitNames): FillRow<TimestampVector> =>
  ({ view }, position, vector, row, reporter) => {
    const low = view.getInt32(position, true)
    const high = view.getInt32(position + 4, true)
    if (!storeTimestamp(vector, row, low, high, unitsPerSecond)) {
      reporter.reportFault(row, describeOutOfRange(view.getBigInt64(position, true), unitNames[unitsPerSecond]))
    }
    if (unitsPerSecond === 1_000_000_000 && hasSubMicrosecondDigits(low, high)) reporter.reportTruncation()
  }

const fillInt96: FillRow<TimestampVector> = ({ view }, position, vector, row, reporter) => {
  const low = view.getInt32(position, true)
  const high = view.getInt32(position + 4, true)
  const julianDay = view.getInt32(position + 8, true)
  if (!storeInt96Timestamp(vector, row, low, high, julianDay))
    reporter.reportFault(row, describeOutOfRange(julianDay - unixJulianDay, 'days'))
  if (hasSubMicrosecondDigits(low, high)) reporter.reportTruncation()
}

/**
 * Returns the function that stores an unscaled integer of 32 or 64 bits as its 32-bit halves, or as a bigint if it is
 * unsigned and exceeds a signed 64-bit integer.
 */
function createDecimalFill(
  storage: 'decimal32' | 'decimal64' | 'unsigned64',
  maxDigits: number,
): FillRow<DecimalVector> {
  return ({ view }, position, vector, row, reporter) => {
    const low = view.getInt32(position, true)
    const signOfLow = low >> 31
    const high = storage === 'decimal32' ? signOfLow : view.getInt32(position + 4, true)
    const exceedsInt64 = storage === 'unsigned64' && high < 0
    const bigValue = exceedsInt64 ? view.getBigUint64(position, true) : undefined
    storeDecimal(vector, row, low, high, bigValue, maxDigits, reporter)
  }
}

/**
 * Returns the function that stores big-endian two's complement integers of any width. Most such values are wide and
 * contain small numbers, so a bigint is created only for a number that needs more than 64 bits.
 */
function createDecimalBytesFill({ physical, width }: LeafType, maxDigits: number): FillFunction {
  return (values, valueIndexes, count, vector, reporter) => {
    const { bytes } = values
    const variableLengthValues = physical === 'BYTE_ARRAY' ? (values as ByteValues) : undefined
    for (let row = 0; row < count; row++) {
      const valueIndex = valueIndexes[row]!
      const isNull = valueIndex < 0
      if (isNull) continue
      const start = variableLengthValues ? variableLengthValues.starts[valueIndex]! : valueIndex * width
      const length = variableLengthValues ? variableLengthValues.lengths[valueIndex]! : width
      const end = start + length
      const isNegative = length > 0 && bytes[start]! >= 0x80
      // A two's complement integer repeats its sign bit before its digits.
      const sign = isNegative ? -1 : 0
      const digitsStart = skipSignBytes(bytes, start, end, isNegative)
      let low = sign
      let high = sign
      let bigValue: bigint | undefined
      if (fits64Bits(bytes, digitsStart, end, isNegative)) {
        for (let position = digitsStart; position < end; position++) {
          // Shifts the 64 bits of both halves left by one byte, and appends the byte.
          high = (high << 8) | (low >>> 24)
          low = (low << 8) | bytes[position]!
        }
      } else bigValue = readBigEndianInteger(bytes, start, end)
      storeDecimal(vector as DecimalVector, row, low, high, bigValue, maxDigits, reporter)
    }
  }
}

/** Returns the position after the bytes that only repeat the sign, but at the latest that of the last eight bytes. */
function skipSignBytes(bytes: Uint8Array, start: number, end: number, isNegative: boolean): number {
  const signByte = isNegative ? 0xff : 0
  let position = start
  while (end - position > 8 && bytes[position] === signByte) position++
  return position
}

/** True if at most eight bytes are left. Of eight bytes, the highest bit must be the sign. */
function fits64Bits(bytes: Uint8Array, digitsStart: number, end: number, isNegative: boolean): boolean {
  const byteCount = end - digitsStart
  const isHighestBitSet = bytes[digitsStart]! >= 0x80
  return byteCount < 8 || (byteCount === 8 && isHighestBitSet === isNegative)
}

function readBigEndianInteger(bytes: Uint8Array, start: number, end: number): bigint {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('hex')
  return BigInt.asIntN((end - start) * 8, BigInt(`0x${hex}`))
}

const fillBytes: FillFunction = (values, valueIndexes, count, vector, reporter) => {
  const { bytes, starts, lengths, faults } = values as ByteValues
  const bytesVector = vector as BytesVector
  bytesVector.data = bytes
  for (let row = 0; row < count; row++) {
    const valueIndex = valueIndexes[row]!
    if (valueIndex < 0) continue
    bytesVector.starts[row] = starts[valueIndex]!
    bytesVector.lengths[row] = lengths[valueIndex]!
  }
  if (!faults) return
  for (let row = 0; row < count; row++) {
    const fault = faults.get(valueIndexes[row]!)
    if (fault) reporter.reportFault(row, fault)
  }
}

/**
 * Writes an unscaled integer to the vector: the 32-bit halves `low` and `high`, or `bigValue` if it is defined. Reports
 * a fault if the integer has more than `maxDigits` digits.
 */
function storeDecimal(
  vector: DecimalVector,
  row: number,
  low: number,
  high: number,
  bigValue: bigint | undefined,
  maxDigits: number,
  reporter: ConversionReporter,
): void {
  vector.low[row] = low
  vector.high[row] = high
  if (bigValue !== undefined) {
    vector.big ??= new Map()
    vector.big.set(row, bigValue)
  } else vector.big?.delete(row)
  // 64 bits represent at most 19 digits, so no check is needed.
  if (bigValue === undefined && maxDigits >= 19) return
  if (hasMoreDigits(bigValue ?? integerOfHalves(low, high), maxDigits))
    reporter.reportFault(row, `has more than the ${maxDigits} digits that its column allows`)
}

/** Compares numbers of up to 15 digits, which are exact, because comparing bigints is slower. */
function hasMoreDigits(value: number | bigint, maxDigits: number): boolean {
  if (typeof value === 'number' && maxDigits <= 15) return Math.abs(value) >= 10 ** maxDigits
  return toAbsoluteBigint(value) >= 10n ** BigInt(maxDigits)
}

function toAbsoluteBigint(value: number | bigint): bigint {
  const bigintValue = BigInt(value)
  return bigintValue < 0n ? -bigintValue : bigintValue
}

const nanosecondsPerDay = 86_400_000_000_000n

type FormatValue = (values: DecodedValues, valueIndex: number, row: number, reporter: ConversionReporter) => string

/** Returns the function that fills a text vector with formatted values, for types that the warehouse stores as text. */
function createTextFill(type: LeafType): FillFunction {
  const formatValue = createValueFormatter(type)
  return (values, valueIndexes, count, vector, reporter) => {
    const bytesVector = vector as BytesVector
    const texts: Buffer[] = []
    let totalBytes = 0
    for (let row = 0; row < count; row++) {
      const valueIndex = valueIndexes[row]!
      if (valueIndex < 0) continue
      const text = Buffer.from(formatValue(values, valueIndex, row, reporter), 'latin1')
      bytesVector.starts[row] = totalBytes
      bytesVector.lengths[row] = text.length
      totalBytes += text.length
      texts.push(text)
    }
    bytesVector.data = Buffer.concat(texts, totalBytes)
  }
}

/** Returns the function that formats one value as text. */
function createValueFormatter({ physical, width, format }: LeafType): FormatValue {
  const formatHex = (values: DecodedValues, valueIndex: number) => {
    const start = physical === 'BYTE_ARRAY' ? (values as ByteValues).starts[valueIndex]! : valueIndex * width
    const length = physical === 'BYTE_ARRAY' ? (values as ByteValues).lengths[valueIndex]! : width
    return Buffer.from(values.bytes.buffer, values.bytes.byteOffset + start, length).toString('hex')
  }
  switch (format.name) {
    case 'hex':
      return (values, valueIndex) => format.prefix + formatHex(values, valueIndex)
    case 'uuid':
      return (values, valueIndex) => formatHex(values, valueIndex).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    case 'interval':
      return (values, valueIndex) => formatInterval((values as FixedValues).view, valueIndex * intervalBytes)
    case 'time':
      return createTimeFormatter(format)
    default:
      throw new Error(`${format.name} is not stored as text`)
  }
}

function createTimeFormatter({ nanosecondsPerUnit, is64Bit }: ValueFormat & { name: 'time' }): FormatValue {
  return (values, valueIndex, row, reporter) => {
    const { view } = values as FixedValues
    const units = is64Bit ? view.getBigInt64(valueIndex * 8, true) : BigInt(view.getInt32(valueIndex * 4, true))
    const nanoseconds = units * BigInt(nanosecondsPerUnit)
    if (nanoseconds >= 0n && nanoseconds < nanosecondsPerDay) return timeText(Number(nanoseconds))
    reporter.reportFault(row, 'is not a time of day')
    return ''
  }
}

const intervalBytes = 12

/** Formats months, days and milliseconds as an ISO 8601 duration. */
function formatInterval(view: DataView, position: number): string {
  const [months, days, milliseconds] = [0, 4, 8].map((offset) => view.getUint32(position + offset, true))
  return `P${months}M${days}DT${milliseconds! / 1000}S`
}

type Int64Halves = Pick<IntegerVector, 'low' | 'high'>

const twoPow32 = 2 ** 32
const microsecondsPerDay = 86_400_000_000
/** The Julian day number of 1 January 1970. */
const unixJulianDay = 2_440_588
/** 24 November 4714 BC, the first day of PostgreSQL's calendar, in days since 1970. */
const minDay = -unixJulianDay
/** The first timestamp of PostgreSQL's calendar. Its last timestamp is beyond the range of 64-bit microseconds. */
const minTimestampMicroseconds = -210_866_803_200_000_000
/** The days, counted since 1970, from which on PostgreSQL cannot store a date or a timestamp. */
const dateEndDay = 2_145_042_906
const timestampEndDay = 106_762_940

const describeOutOfRange = (value: number | bigint, unit: string) =>
  `is ${value} ${unit} from 1970, which is outside the warehouse’s calendar`

function storeExactNumber(halves: Int64Halves, row: number, value: number): void {
  const high = Math.floor(value / twoPow32)
  halves.high[row] = high
  halves.low[row] = value - high * twoPow32
}

/**
 * Stores microseconds since 1970. Returns false, without storing them, if PostgreSQL's calendar does not include them.
 */
function storeBigint(halves: Int64Halves, row: number, value: bigint): boolean {
  if (value >= 2n ** 63n || value < BigInt(minTimestampMicroseconds)) return false
  halves.high[row] = Number(value >> 32n)
  halves.low[row] = Number(BigInt.asIntN(32, value))
  return true
}

/**
 * Converts units since 1970 to microseconds and stores them. `low` and `high` are the halves of the 64-bit units.
 * Returns false if PostgreSQL's calendar does not include the timestamp.
 */
function storeTimestamp(halves: Int64Halves, row: number, low: number, high: number, unitsPerSecond: number): boolean {
  if (unitsPerSecond === 1_000_000_000) {
    storeNanoseconds(halves, row, low, high)
    // PostgreSQL's calendar includes all 64-bit nanoseconds, which are the years 1677 to 2262.
    return true
  }
  if (unitsPerSecond === 1_000_000) {
    halves.high[row] = high
    halves.low[row] = low
    return numberOfHalves(low, high) >= minTimestampMicroseconds
  }
  const milliseconds = numberOfHalves(low, high)
  // A double represents microseconds exactly up to 2^53, which are 285 years.
  const isExact = Math.abs(milliseconds) < 9e12
  if (!isExact) return storeBigint(halves, row, ((BigInt(high) << 32n) | BigInt(low >>> 0)) * 1000n)
  storeExactNumber(halves, row, milliseconds * 1000)
  return true
}

/** Returns a 64-bit integer as a number, which is rounded if it exceeds 2^53. */
function numberOfHalves(low: number, high: number): number {
  const unsignedLow = low >>> 0
  return high * twoPow32 + unsignedLow
}

/**
 * Stores nanoseconds as microseconds, rounded down. Divides one half after the other, so that the numbers stay exact.
 */
function storeNanoseconds(halves: Int64Halves, row: number, low: number, high: number): void {
  const quotient = Math.floor(high / 1000)
  const remainder = high - quotient * 1000
  halves.high[row] = quotient
  halves.low[row] = Math.floor(numberOfHalves(low, remainder) / 1000)
}

/** True if the nanoseconds are not a multiple of a microsecond. */
function hasSubMicrosecondDigits(low: number, high: number): boolean {
  const remainder = high - Math.floor(high / 1000) * 1000
  return numberOfHalves(low, remainder) % 1000 !== 0
}

/**
 * Stores a timestamp of type INT96: `low` and `high` are the halves of the nanoseconds since midnight. Returns false if
 * PostgreSQL's calendar does not include the timestamp.
 */
function storeInt96Timestamp(halves: Int64Halves, row: number, low: number, high: number, julianDay: number): boolean {
  const microsecondsOfDay = Math.floor(numberOfHalves(low, high) / 1000)
  const days = julianDay - unixJulianDay
  // Within these limits, a double represents the sum exactly.
  const isExact = days > -100_000 && days < 100_000 && microsecondsOfDay < 1e12
  if (!isExact) return storeBigint(halves, row, BigInt(days) * BigInt(microsecondsPerDay) + BigInt(microsecondsOfDay))
  storeExactNumber(halves, row, days * microsecondsPerDay + microsecondsOfDay)
  return true
}
