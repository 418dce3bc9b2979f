import type { DataType } from '@sluice/contracts'
import type { StoredType } from '../row-stream.ts'
import { type TimestampParts, convertDate, parseTimeText, writeMicroseconds } from './date-and-time-encoding.ts'
import { writeJson } from './jsonb-field.ts'
import { NumericText } from './numeric-text.ts'
import { UnstorableValue, type TupleBuffer } from './tuple-buffer.ts'

export type RowColumn = StoredType & { label: string }

/** Why the last row was not written. */
export interface RowFault {
  column: string
  reason: string
}

/** Counts values that could only be stored as null: dates with a zero year, month or day. */
export interface NulledCounts {
  zeroDates: number
}

/**
 * Encodes rows of JavaScript values, in the order of the columns, in PostgreSQL's binary COPY format without loss. A
 * decimal must be a text; an integer a number, bigint or text; a time a text or a Date, which may have
 * `nanosecondsDelta`, the seconds beyond its milliseconds; binary data a Uint8Array; JSON a text or an object. A value
 * that does not fit its column sets `fault` instead of throwing.
 */
export class RowEncoder {
  readonly nulled: NulledCounts[]
  fault: RowFault | undefined
  readonly #columns: readonly RowColumn[]
  readonly #writers: WriteValue[]
  readonly #buffer: TupleBuffer

  constructor(columns: readonly RowColumn[], buffer: TupleBuffer) {
    this.#columns = columns
    this.#buffer = buffer
    this.nulled = columns.map(() => ({ zeroDates: 0 }))
    this.#writers = columns.map((column, index) => valueWriter(column, this.nulled[index]!))
  }

  /**
   * Writes a row. Returns false if a value does not fit; `fault` then contains the reason, and the buffer is unchanged.
   */
  write(values: readonly unknown[]): boolean {
    const buffer = this.#buffer
    const writers = this.#writers
    buffer.beginRow(writers.length)
    let index = 0
    try {
      for (; index < writers.length; index++) {
        const value = values[index]
        if (value === null || value === undefined) buffer.writeNull()
        else writers[index]!(value, buffer)
      }
      return true
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error
      buffer.dropRow()
      this.fault = { column: this.#columns[index]!.label, reason: error.message }
      return false
    }
  }
}

/** Writes one value that is not null as a field: its length, then its bytes. Throws `UnstorableValue`. */
type WriteValue = (value: unknown, out: TupleBuffer) => void

/** Returns the writer for a column. `nulled` counts the values that it can only store as null. */
export function valueWriter(column: StoredType, nulled: NulledCounts): WriteValue {
  return writerFactories[column.dataType](column, nulled)
}

type WriterFactory = (column: StoredType, nulled: NulledCounts) => WriteValue

const makeTextWriter = (characters?: number): WriterFactory => {
  if (characters === undefined) return () => writeAnyText
  return () => (value, out) => {
    const text = toText(value)
    // A character has one or two code units, so a text with few code units need not be split into characters.
    const isTooLong = text.length > characters && [...text].length > characters
    if (isTooLong) throw new UnstorableValue(`is longer than ${characters} characters`)
    out.writeText(text)
  }
}

const writeAnyText: WriteValue = (value, out) => {
  if (typeof value === 'string') out.writeText(value)
  else if (value instanceof Uint8Array) out.writeHex(value)
  else out.writeText(toText(value))
}

const makeIntegerWriter =
  (byteCount: 2 | 4, name: string): WriterFactory =>
  () => {
    const minValue = -(2 ** (byteCount * 8 - 1))
    return (value, out) => {
      const number = typeof value === 'number' ? value : parseInteger(value, name)
      if (!Number.isInteger(number) || number < minValue || number >= -minValue)
        throw new UnstorableValue(`does not fit ${name}`)
      out.reserve(4 + byteCount)
      out.view.setInt32(out.at, byteCount)
      if (byteCount === 2) out.view.setInt16(out.at + 4, number)
      else out.view.setInt32(out.at + 4, number)
      out.at += 4 + byteCount
    }
  }

/** Converts a value other than a number to an integer. Throws `UnstorableValue` if it is not one. */
function parseInteger(value: unknown, name: string): number {
  if (typeof value === 'boolean') return value ? 1 : 0
  const numberText = toText(value)
  if (!/^[+-]?\d{1,40}$/.test(numberText)) throw new UnstorableValue(`is not a valid ${name}`)
  return Number(numberText)
}

const makeBigintWriter: WriterFactory = () => (value, out) => {
  let whole: bigint
  if (typeof value === 'bigint') whole = value
  else if (typeof value === 'number' && Number.isSafeInteger(value)) whole = BigInt(value)
  else if (typeof value === 'string' && /^[+-]?\d{1,40}$/.test(value)) whole = BigInt(value.replace('+', ''))
  else if (typeof value === 'boolean') whole = value ? 1n : 0n
  else throw new UnstorableValue('is not a valid BIGINT')
  if (whole !== BigInt.asIntN(64, whole)) throw new UnstorableValue('does not fit BIGINT')
  out.reserve(12)
  out.view.setInt32(out.at, 8)
  out.view.setBigInt64(out.at + 4, whole)
  out.at += 12
}

const makeDecimalWriter: WriterFactory = ({ precision, scale = 0 }) => {
  const number = new NumericText()
  let textBuffer = Buffer.allocUnsafeSlow(256)
  return (value, out) => {
    const decimalText = toText(value)
    if (decimalText.length > textBuffer.length) textBuffer = Buffer.allocUnsafeSlow(decimalText.length)
    if (!number.read(textBuffer, 0, textBuffer.write(decimalText, 'latin1')))
      throw new UnstorableValue('is not a number')
    checkDecimal(number, precision, scale)
    out.reserve(4 + number.maxByteLength)
    const byteCount = number.write(out.view, out.at + 4)
    out.view.setInt32(out.at, byteCount)
    out.at += 4 + byteCount
  }
}

/** Throws `UnstorableValue` if a column of this precision and scale would reject or round the number. */
export function checkDecimal(number: NumericText, precision: number | undefined, scale: number): void {
  if (precision === undefined) return
  if (number.integerDigits > precision - scale) throw new UnstorableValue(`does not fit DECIMAL(${precision},${scale})`)
  if (number.significantFractionDigits > scale)
    throw new UnstorableValue(`has more than ${scale} digits after the point`)
}

const makeFloatWriter =
  (bytes: 4 | 8): WriterFactory =>
  () =>
  (value, out) => {
    const number = typeof value === 'number' ? value : parseFloatText(toText(value))
    const overflowsFloat = bytes === 4 && Number.isFinite(number) && !Number.isFinite(Math.fround(number))
    if (overflowsFloat) throw new UnstorableValue('does not fit FLOAT')
    out.reserve(4 + bytes)
    out.view.setInt32(out.at, bytes)
    if (bytes === 4) out.view.setFloat32(out.at + 4, number)
    else out.view.setFloat64(out.at + 4, number)
    out.at += 4 + bytes
  }

/** Parses a float. Throws `UnstorableValue` if the text is neither a number nor NaN. */
function parseFloatText(numberText: string): number {
  const number = numberText.trim() === '' ? Number.NaN : Number(numberText)
  if (Number.isNaN(number) && numberText.toLowerCase() !== 'nan') throw new UnstorableValue('is not a number')
  return number
}

const booleanValues = new Map<unknown, boolean>([
  ...['true', 't', '1', 'yes', 'y'].map((word): [unknown, boolean] => [word, true]),
  ...['false', 'f', '0', 'no', 'n'].map((word): [unknown, boolean] => [word, false]),
  ...[true, 1, 1n].map((word): [unknown, boolean] => [word, true]),
  ...[false, 0, 0n].map((word): [unknown, boolean] => [word, false]),
])

const makeBooleanWriter: WriterFactory = () => (value, out) => {
  const isTrue = booleanValues.get(typeof value === 'string' ? value.toLowerCase() : value)
  if (isTrue === undefined) throw new UnstorableValue('is neither true nor false')
  out.reserve(5)
  out.view.setInt32(out.at, 1)
  out.bytes[out.at + 4] = isTrue ? 1 : 0
  out.at += 5
}

const makeTimeWriter =
  (dataType: 'DATE' | 'TIMESTAMP' | 'TIMESTAMPTZ'): WriterFactory =>
  (_column, nullCounts) => {
    const moment: TimestampParts = { days: 0, seconds: 0, microseconds: 0 }
    return (value, out) => {
      if (value instanceof Date) {
        if (Number.isNaN(value.getTime())) throw new UnstorableValue(`is not a valid ${dataType}`)
        convertDate(value, moment)
        const { nanosecondsDelta = 0 } = value as { nanosecondsDelta?: number }
        moment.microseconds += Math.round(nanosecondsDelta * 1e6)
      } else {
        const timeKind = typeof value === 'string' ? parseTimeText(value, moment) : undefined
        const losesTime = dataType === 'DATE' && timeKind === 'TIME' && !isMidnight(moment)
        if (timeKind === undefined || losesTime) throw new UnstorableValue(`is not a valid ${dataType}`)
        if (timeKind === 'ZERO') {
          nullCounts.zeroDates++
          out.writeNull()
          return
        }
      }
      writeTimestampField(out, moment, dataType)
    }
  }

const isMidnight = ({ seconds, microseconds }: TimestampParts): boolean => seconds === 0 && microseconds === 0

/** Writes a timestamp as a field of a DATE (only the day), TIMESTAMP or TIMESTAMPTZ column. */
export function writeTimestampField(
  out: TupleBuffer,
  moment: TimestampParts,
  dataType: 'DATE' | 'TIMESTAMP' | 'TIMESTAMPTZ',
): void {
  const bytes = dataType === 'DATE' ? 4 : 8
  out.reserve(4 + bytes)
  out.view.setInt32(out.at, bytes)
  if (dataType === 'DATE') out.view.setInt32(out.at + 4, moment.days)
  else writeMicroseconds(out.view, out.at + 4, moment)
  out.at += 4 + bytes
}

const writerFactories: Record<DataType, WriterFactory> = {
  SMALLINT: makeIntegerWriter(2, 'SMALLINT'),
  INTEGER: makeIntegerWriter(4, 'INTEGER'),
  BIGINT: makeBigintWriter,
  DECIMAL: makeDecimalWriter,
  FLOAT: makeFloatWriter(4),
  DOUBLE: makeFloatWriter(8),
  BOOLEAN: makeBooleanWriter,
  CHARACTER_11: makeTextWriter(11),
  VARCHAR_50: makeTextWriter(50),
  VARCHAR_255: makeTextWriter(255),
  TEXT: makeTextWriter(),
  DATE: makeTimeWriter('DATE'),
  TIMESTAMP: makeTimeWriter('TIMESTAMP'),
  TIMESTAMPTZ: makeTimeWriter('TIMESTAMPTZ'),
  GEOMETRY: makeTextWriter(),
  GEOMETRY_POINT: makeTextWriter(),
  JSONB: () => (value, out) => writeJson(toText(value), out),
}

/**
 * Formats a value as PostgreSQL prints it: binary data as `\x…`, times without this machine's time zone, numbers and
 * booleans as words, and anything else as JSON.
 */
export function toText(value: unknown): string {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  if (value instanceof Date) return dateText(value)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`
  return JSON.stringify(value, (_key, inner) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? ''
}

/** Formats a `Date` in UTC, with the microseconds of its `nanosecondsDelta`. */
function dateText(date: Date): string {
  const { nanosecondsDelta = 0 } = date as { nanosecondsDelta?: number }
  const isoText = date.toISOString().replace('T', ' ').replace('Z', '')
  const extraMicroseconds = Math.round(nanosecondsDelta * 1e6)
  if (extraMicroseconds > 0) return isoText + String(extraMicroseconds).padStart(3, '0')
  return isoText.replace(/\.000$/, '')
}
