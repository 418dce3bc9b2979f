import {
  checkDecimal,
  daysSince2000,
  isDay,
  UnstorableValue,
  type TimestampParts,
  type NulledCounts,
  NumericText,
  type TupleBuffer,
  writeTimestampField,
  type StoredType,
} from '@sluice/row-stream'
import { isBinary, isJson, isUnsigned, type MysqlField, Types } from './columns.ts'
import type { PacketCursor } from './packet-cursor.ts'

type DirectWriter = (cursor: PacketCursor, out: TupleBuffer) => void

/**
 * Returns a writer that copies a value's bytes, for columns stored with their own type. Returns undefined if the
 * bytes of this type must be converted.
 */
export function createDirectWriter(
  field: MysqlField,
  storedType: StoredType,
  nullCounts: NulledCounts,
): DirectWriter | undefined {
  const isUnsignedField = isUnsigned(field)
  switch (field.columnType) {
    case Types.TINY:
      return isUnsignedField
        ? (cursor, out) => writeInt16(out, cursor.view.getUint8(cursor.skip(1)))
        : (cursor, out) => writeInt16(out, cursor.view.getInt8(cursor.skip(1)))
    case Types.SHORT:
    case Types.YEAR:
      if (storedType.dataType === 'SMALLINT')
        return (cursor, out) => writeInt16(out, cursor.view.getInt16(cursor.skip(2), true))
      return (cursor, out) => writeInt32(out, cursor.view.getUint16(cursor.skip(2), true))
    case Types.INT24:
      return (cursor, out) => writeInt32(out, cursor.view.getInt32(cursor.skip(4), true))
    case Types.LONG:
      if (isUnsignedField) return (cursor, out) => writeInt64(out, 0, cursor.view.getUint32(cursor.skip(4), true))
      return (cursor, out) => writeInt32(out, cursor.view.getInt32(cursor.skip(4), true))
    case Types.LONGLONG:
      return isUnsignedField ? undefined : writeLong
    case Types.FLOAT:
      return (cursor, out) => writeInt32(out, cursor.view.getInt32(cursor.skip(4), true))
    case Types.DOUBLE:
      return writeLong
    case Types.NEWDECIMAL:
    case Types.DECIMAL:
      return createDecimalWriter(storedType)
    case Types.DATE:
    case Types.DATETIME:
    case Types.TIMESTAMP:
      return createTimestampWriter(storedType.dataType as 'DATE' | 'TIMESTAMP' | 'TIMESTAMPTZ', nullCounts)
    case Types.VARCHAR:
    case Types.VAR_STRING:
    case Types.STRING:
    case Types.BLOB:
    case Types.TINY_BLOB:
    case Types.MEDIUM_BLOB:
    case Types.LONG_BLOB:
    case Types.ENUM:
    case Types.SET:
      if (isJson(field)) return undefined
      return isBinary(field) ? writeBytes : writeText
    default:
      return undefined
  }
}

function writeInt16(out: TupleBuffer, value: number): void {
  out.reserve(6)
  out.view.setInt32(out.at, 2)
  out.view.setInt16(out.at + 4, value)
  out.at += 6
}

function writeInt32(out: TupleBuffer, bits: number): void {
  out.reserve(8)
  out.view.setInt32(out.at, 4)
  out.view.setInt32(out.at + 4, bits)
  out.at += 8
}

function writeInt64(out: TupleBuffer, upper: number, lower: number): void {
  out.reserve(12)
  out.view.setInt32(out.at, 8)
  out.view.setInt32(out.at + 4, upper)
  out.view.setInt32(out.at + 8, lower)
  out.at += 12
}

/** Writes a BIGINT or DOUBLE: the eight bytes in reverse order. */
const writeLong: DirectWriter = (cursor, out) => {
  const from = cursor.skip(8)
  writeInt64(out, cursor.view.getInt32(from + 4, true), cursor.view.getInt32(from, true))
}

const writeText: DirectWriter = (cursor, out) => {
  const length = cursor.readLength()
  const from = cursor.skip(length)
  out.writeUtf8(cursor.bytes, from, from + length)
}

const writeBytes: DirectWriter = (cursor, out) => {
  const length = cursor.readLength()
  const from = cursor.skip(length)
  out.writeHex(cursor.bytes.subarray(from, from + length))
}

function createDecimalWriter({ precision, scale = 0 }: StoredType): DirectWriter {
  const number = new NumericText()
  return (cursor, out) => {
    const length = cursor.readLength()
    const start = cursor.skip(length)
    if (!number.read(cursor.bytes, start, start + length)) throw new UnstorableValue('is not a number')
    checkDecimal(number, precision, scale)
    // A field of binary COPY starts with its length in four bytes.
    out.reserve(4 + number.maxByteLength)
    const byteCount = number.write(out.view, out.at + 4)
    out.view.setInt32(out.at, byteCount)
    out.at += 4 + byteCount
  }
}

/**
 * Returns a writer for dates and timestamps. The packet contains 0, 4, 7 or 11 bytes of date, time and microseconds;
 * missing parts are zero.
 */
function createTimestampWriter(dataType: 'DATE' | 'TIMESTAMP' | 'TIMESTAMPTZ', nullCounts: NulledCounts): DirectWriter {
  const moment: TimestampParts = { days: 0, seconds: 0, microseconds: 0 }
  return (cursor, out) => {
    const length = cursor.readLength()
    const position = cursor.skip(length)
    const { bytes, view } = cursor
    const year = length === 0 ? 0 : view.getUint16(position, true)
    const month = length === 0 ? 0 : bytes[position + 2]!
    const day = length === 0 ? 0 : bytes[position + 3]!
    if (year === 0 || month === 0 || day === 0) {
      nullCounts.zeroDates++
      out.writeNull()
      return
    }
    if (!isDay(year, month, day)) throw new UnstorableValue(`is not a valid ${dataType}`)
    moment.days = daysSince2000(year, month, day)
    moment.seconds = length > 4 ? bytes[position + 4]! * 3600 + bytes[position + 5]! * 60 + bytes[position + 6]! : 0
    moment.microseconds = length > 7 ? view.getUint32(position + 7, true) : 0
    writeTimestampField(out, moment, dataType)
  }
}
