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
  wholeOf,
} from '@sluice/row-stream'
import { parseFloat16 } from 'hyparquet/src/convert.js'
import type { LeafReading, LeafType } from './schema.ts'
import type { ByteValues, DecodedValues, FixedValues } from './decode-values.ts'

/** Receives notes about individual values while a vector is filled. */
export interface ConversionNotes {
  /** Called if the warehouse cannot store the value of a row. Contains the reason. */
  fault(row: number, reason: string): void
  /** Called if digits that the warehouse does not store were truncated. */
  cut(): void
}

/**
 * Writes the values at indexes `places` to the first `count` rows of the vector. An index of -1 is a null, which the
 * vector has already marked.
 */
export type FillFunction = (
  values: DecodedValues,
  places: Int32Array,
  count: number,
  vector: ColumnVector,
  notes: ConversionNotes,
) => void

type FillFixed<V> = (values: FixedValues, position: number, vector: V, row: number, notes: ConversionNotes) => void

/**
 * Returns the function that converts the values of a leaf column to a vector of type `dataType`: the leaf's own type or
 * a wider one.
 */
export function createFillFunction(type: LeafType, dataType: DataType): FillFunction {
  const { reading } = type
  switch (reading.as) {
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
      return fillDecimalBytes(type, reading.digits)
    case 'decimal32':
    case 'decimal64':
    case 'unsigned64':
      return createFixedFill(reading.as === 'decimal32' ? 4 : 8, fillDecimal(reading.as, reading.digits))
    default:
      return createFixedFill(...chooseFixedFill(reading, dataType))
  }
}

function createFixedFill<V extends ColumnVector>(width: number, fillValue: FillFixed<V>): FillFunction {
  return (values, valueIndexes, count, vector, notes) => {
    for (let row = 0; row < count; row++) {
      const offset = valueIndexes[row]!
      if (offset >= 0) fillValue(values as FixedValues, offset * width, vector as V, row, notes)
    }
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- a reading fills one kind of vector, which leaf-types.ts pairs
// it with
type AnyFill = FillFixed<any>

/** Returns the byte width of a stored value of fixed width, and the function that writes one such value to a vector. */
function chooseFixedFill(reading: LeafReading, dataType: DataType): [width: number, fillValue: AnyFill] {
  switch (reading.as) {
    case 'boolean':
      return [1, ({ bytes }, position, vector: BooleanVector, row) => void (vector.bits[row] = bytes[position]!)]
    case 'int32':
      return [4, reading.to === undefined ? fillInt32 : fillNarrow(reading.from!, reading.to)]
    case 'uint32':
      return [4, fillUnsigned32]
    case 'int64':
      return [8, fillInt64]
    case 'float':
      return [
        4,
        ({ view }, position, vector: FloatingVector, row) =>
          void (vector.values[row] = view.getFloat32(position, true)),
      ]
    case 'double':
      return [
        8,
        ({ view }, position, vector: FloatingVector, row) =>
          void (vector.values[row] = view.getFloat64(position, true)),
      ]
    case 'float16':
      return [2, fillFloat16]
    case 'date':
      return [4, fillDate(dataType === 'TIMESTAMP' || dataType === 'TIMESTAMPTZ' ? endOfTimestampDays : endOfDates)]
    case 'timestamp':
      return [8, fillTimestamp(reading.perSecond)]
    case 'int96':
      return [12, fillInt96]
    default:
      throw new Error(`${reading.as} is not of fixed width`)
  }
}

const fillInt32: FillFixed<IntegerVector> = ({ view }, position, vector, row) => {
  const value = view.getInt32(position, true)
  vector.low[row] = value
  vector.high[row] = value >> 31
}

const fillNarrow =
  (from: number, to: number): FillFixed<IntegerVector> =>
  ({ view }, position, vector, row, notes) => {
    const value = view.getInt32(position, true)
    vector.low[row] = value
    vector.high[row] = value >> 31
    if (value < from || value > to) notes.fault(row, `is ${value}, but its column allows ${from} to ${to}`)
  }

const fillUnsigned32: FillFixed<IntegerVector> = ({ view }, position, vector, row) => {
  vector.low[row] = view.getInt32(position, true)
  vector.high[row] = 0
}

const fillInt64: FillFixed<IntegerVector> = ({ view }, position, vector, row) => {
  vector.low[row] = view.getInt32(position, true)
  vector.high[row] = view.getInt32(position + 4, true)
}

const fillFloat16: FillFixed<FloatingVector> = ({ bytes }, position, vector, row) => {
  vector.values[row] = parseFloat16(bytes.subarray(position, position + 2))!
}

const fillDate =
  (end: number): FillFixed<DateVector> =>
  ({ view }, position, vector, row, notes) => {
    const days = view.getInt32(position, true)
    vector.days[row] = days
    if (days < firstDay || days >= end) notes.fault(row, outOfRange(days, 'days'))
  }

const unitNames = { 1_000: 'milliseconds', 1_000_000: 'microseconds', 1_000_000_000: 'nanoseconds' }

const fillTimestamp =
  (perSecond: keyof typeof unitNames): FillFixed<TimestampVector> =>
  ({ view }, position, vector, row, notes) => {
    const low = view.getInt32(position, true)
    const high = view.getInt32(position + 4, true)
    if (!storeMoment(vector, row, low, high, perSecond)) {
      notes.fault(row, outOfRange(view.getBigInt64(position, true), unitNames[perSecond]))
    }
    if (perSecond === 1_000_000_000 && isFiner(low, high)) notes.cut()
  }

const fillInt96: FillFixed<TimestampVector> = ({ view }, position, vector, row, notes) => {
  const low = view.getInt32(position, true)
  const high = view.getInt32(position + 4, true)
  const julianDay = view.getInt32(position + 8, true)
  if (!storeJulian(vector, row, low, high, julianDay)) notes.fault(row, outOfRange(julianDay - 2_440_588, 'days'))
  if (isFiner(low, high)) notes.cut()
}

function fillDecimal(as: 'decimal32' | 'decimal64' | 'unsigned64', digits: number): FillFixed<DecimalVector> {
  return ({ view }, position, vector, row, notes) => {
    const low = view.getInt32(position, true)
    const high = as === 'decimal32' ? low >> 31 : view.getInt32(position + 4, true)
    const big = as === 'unsigned64' && high < 0 ? view.getBigUint64(position, true) : undefined
    storeDecimal(vector, row, low, high, big, digits, notes)
  }
}

/** Reads big-endian two's complement integers of any width. Most such values are wide and contain small numbers. */
function fillDecimalBytes({ physical, width }: LeafType, digits: number): FillFunction {
  return (values, valueIndexes, count, vector, notes) => {
    const { bytes } = values
    const variableLengthValues = physical === 'BYTE_ARRAY' ? (values as ByteValues) : undefined
    for (let row = 0; row < count; row++) {
      const valueIndex = valueIndexes[row]!
      if (valueIndex < 0) continue
      const start = variableLengthValues ? variableLengthValues.starts[valueIndex]! : valueIndex * width
      const end = start + (variableLengthValues ? variableLengthValues.lengths[valueIndex]! : width)
      const sign = end > start && bytes[start]! >= 0x80 ? -1 : 0
      let firstSignificantByte = start
      while (end - firstSignificantByte > 8 && bytes[firstSignificantByte] === (sign & 0xff)) firstSignificantByte++
      const fits64Bits =
        end - firstSignificantByte < 8 ||
        (end - firstSignificantByte === 8 && (bytes[firstSignificantByte]! >= 0x80 ? -1 : 0) === sign)
      let low = sign
      let high = sign
      for (let position = fits64Bits ? firstSignificantByte : end; position < end; position++) {
        high = (high << 8) | (low >>> 24)
        low = (low << 8) | bytes[position]!
      }
      const bigValue = fits64Bits ? undefined : bigOf(bytes, start, end)
      storeDecimal(vector as DecimalVector, row, low, high, bigValue, digits, notes)
    }
  }
}

function bigOf(bytes: Uint8Array, start: number, end: number): bigint {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('hex')
  return BigInt.asIntN((end - start) * 8, BigInt(`0x${hex}`))
}

const fillBytes: FillFunction = (values, valueIndexes, count, vector, notes) => {
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
    if (fault) notes.fault(row, fault)
  }
}

/**
 * Writes an unscaled integer to the vector. It is given as two 32-bit halves, or as `bigValue` if it does not fit
 * into them. Records a fault if the value has more than `maxDigits` digits.
 */
function storeDecimal(
  vector: DecimalVector,
  row: number,
  low: number,
  high: number,
  bigValue: bigint | undefined,
  maxDigits: number,
  notes: ConversionNotes,
): void {
  vector.low[row] = low
  vector.high[row] = high
  if (bigValue !== undefined) {
    vector.big ??= new Map()
    vector.big.set(row, bigValue)
  } else vector.big?.delete(row)
  // 64 bits represent at most 19 digits, so no check is needed.
  if (bigValue === undefined && maxDigits >= 19) return
  const value = bigValue ?? wholeOf(low, high)
  const hasTooManyDigits =
    typeof value === 'number' && maxDigits <= 15
      ? Math.abs(value) >= 10 ** maxDigits
      : toAbsoluteBigint(value) >= 10n ** BigInt(maxDigits)
  if (hasTooManyDigits) notes.fault(row, `has more than the ${maxDigits} digits that its column allows`)
}

function toAbsoluteBigint(value: number | bigint): bigint {
  const bigintValue = BigInt(value)
  return bigintValue < 0n ? -bigintValue : bigintValue
}

const nanosecondsOfDay = 86_400_000_000_000n

type RenderOne = (values: DecodedValues, offset: number, row: number, notes: ConversionNotes) => string

/** Returns the function that formats values for types that the warehouse stores as text. */
function createTextFill(type: LeafType): FillFunction {
  const formatValue = renderOne(type)
  return (values, valueIndexes, count, vector, notes) => {
    const bytesVector = vector as BytesVector
    const texts: Buffer[] = []
    let totalBytes = 0
    for (let row = 0; row < count; row++) {
      if (valueIndexes[row]! < 0) continue
      const text = Buffer.from(formatValue(values, valueIndexes[row]!, row, notes), 'latin1')
      bytesVector.starts[row] = totalBytes
      bytesVector.lengths[row] = text.length
      totalBytes += text.length
      texts.push(text)
    }
    bytesVector.data = Buffer.concat(texts, totalBytes)
  }
}

/** Returns the function that formats one value as text. */
function renderOne({ physical, width, reading }: LeafType): RenderOne {
  const hexOf = (values: DecodedValues, offset: number) => {
    const start = physical === 'BYTE_ARRAY' ? (values as ByteValues).starts[offset]! : offset * width
    const length = physical === 'BYTE_ARRAY' ? (values as ByteValues).lengths[offset]! : width
    return Buffer.from(values.bytes.buffer, values.bytes.byteOffset + start, length).toString('hex')
  }
  switch (reading.as) {
    case 'hex':
      return (values, offset) => reading.prefix + hexOf(values, offset)
    case 'uuid':
      return (values, offset) => hexOf(values, offset).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    case 'interval':
      return (values, offset) => formatInterval((values as FixedValues).view, offset * 12)
    case 'time':
      return (values, offset, row, notes) => {
        const { view } = values as FixedValues
        const units = reading.wide ? view.getBigInt64(offset * 8, true) : BigInt(view.getInt32(offset * 4, true))
        const totalNanoseconds = units * BigInt(reading.nanoseconds)
        if (totalNanoseconds >= 0n && totalNanoseconds < nanosecondsOfDay) return timeText(Number(totalNanoseconds))
        notes.fault(row, 'is not a time of day')
        return ''
      }
    default:
      throw new Error(`${reading.as} is not rendered`)
  }
}

/** Formats months, days and milliseconds as an ISO 8601 duration. */
function formatInterval(view: DataView, position: number): string {
  const [months, days, milliseconds] = [0, 4, 8].map((offset) => view.getUint32(position + offset, true))
  return `P${months}M${days}DT${milliseconds! / 1000}S`
}

/** A 64-bit integer as two halves, which can be read without allocating an object. */
interface Int64Halves {
  low: Int32Array
  high: Int32Array
}

const two32 = 4294967296
/**
 * 24 November 4714 BC, the start of PostgreSQL's calendar, in microseconds since 1970. The calendar's end is beyond the
 * range of 64-bit microseconds.
 */
const firstMicrosecond = -210_866_803_200_000_000
const microsecondsOfDay = 86_400_000_000
const unixJulianDay = 2_440_588
export const firstDay = -unixJulianDay
const endOfDates = 2_145_042_906
const endOfTimestampDays = 106_762_940

const outOfRange = (value: number | bigint, unit: string) =>
  `is ${value} ${unit} from 1970, which is outside the warehouse’s calendar`

function storeWhole(halves: Int64Halves, row: number, value: number): void {
  const high = Math.floor(value / two32)
  halves.high[row] = high
  halves.low[row] = value - high * two32
}

function storeBig(halves: Int64Halves, row: number, value: bigint): boolean {
  if (value >= 2n ** 63n || value < BigInt(firstMicrosecond)) return false
  halves.high[row] = Number(value >> 32n)
  halves.low[row] = Number(BigInt.asIntN(32, value))
  return true
}

/** Converts units since 1970 to microseconds. Returns false if PostgreSQL cannot store the timestamp. */
function storeMoment(halves: Int64Halves, row: number, low: number, high: number, perSecond: number): boolean {
  if (perSecond === 1_000_000_000) {
    // Computes (high × 2^32 + low) / 1000, rounded down, with numbers that stay exact.
    const quotient = Math.floor(high / 1000)
    halves.high[row] = quotient
    halves.low[row] = Math.floor(((high - quotient * 1000) * two32 + (low >>> 0)) / 1000)
    return true
  }
  if (perSecond === 1_000_000) {
    halves.high[row] = high
    halves.low[row] = low
    return high * two32 + (low >>> 0) >= firstMicrosecond
  }
  const milliseconds = high * two32 + (low >>> 0)
  // A double represents microseconds exactly up to 2^53, which are 285 years.
  if (milliseconds > -9e12 && milliseconds < 9e12) storeWhole(halves, row, milliseconds * 1000)
  else return storeBig(halves, row, ((BigInt(high) << 32n) | BigInt(low >>> 0)) * 1000n)
  return true
}

/** True if the nanoseconds are not a whole number of microseconds. */
function isFiner(low: number, high: number): boolean {
  const remainder = high - Math.floor(high / 1000) * 1000
  return (remainder * two32 + (low >>> 0)) % 1000 !== 0
}

/** Converts a timestamp of Impala, which consists of the nanoseconds of the day and the Julian day. */
function storeJulian(halves: Int64Halves, row: number, low: number, high: number, julianDay: number): boolean {
  const ofDay = Math.floor((high * two32 + (low >>> 0)) / 1000)
  const days = julianDay - unixJulianDay
  if (days > -100_000 && days < 100_000 && ofDay < 1e12) storeWhole(halves, row, days * microsecondsOfDay + ofDay)
  else return storeBig(halves, row, BigInt(days) * BigInt(microsecondsOfDay) + BigInt(ofDay))
  return true
}
