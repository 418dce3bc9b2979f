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
import { isBinary, isJson, isUnsigned, type MysqlField, Types } from './column-types.ts'
import type { PacketCursor } from './packet-cursor.ts'

type DirectWriter = (cursor: PacketCursor, out: TupleBuffer) => void

/**
 * Returns a function that encodes the bytes of a packet in binary COPY format, for a column stored with its own type.
 * Returns undefined for types that have no such function; their values are read and converted.
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

/** A field of binary COPY starts with the number of bytes of its value. */
const fieldLengthBytes = 4

function writeInt16(out: TupleBuffer, value: number): void {
  out.reserve(6)
  out.view.setInt32(out.at, 2)
  out.view.setInt16(out.at + fieldLengthBytes, value)
  out.at += 6
}

function writeInt32(out: TupleBuffer, bits: number): void {
  out.reserve(8)
  out.view.setInt32(out.at, 4)
  out.view.setInt32(out.at + fieldLengthBytes, bits)
  out.at += 8
}

function writeInt64(out: TupleBuffer, upper: number, lower: number): void {
  out.reserve(12)
  out.view.setInt32(out.at, 8)
  out.view.setInt32(out.at + fieldLengthBytes, upper)
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

/** Returns a writer that converts the digits of a decimal to PostgreSQL's binary format. */
function createDecimalWriter({ precision, scale = 0 }: StoredType): DirectWriter {
  const number = new NumericText()
  return (cursor, out) => {
    const length = cursor.readLength()
    const start = cursor.skip(length)
    if (!number.read(cursor.bytes, start, start + length)) throw new UnstorableValue('is not a number')
    checkDecimal(number, precision, scale)
    out.reserve(fieldLengthBytes + number.maxByteLength)
    const byteCount = number.write(out.view, out.at + fieldLengthBytes)
    out.view.setInt32(out.at, byteCount)
    out.at += fieldLengthBytes + byteCount
  }
}

/**
 * Returns a writer for dates and timestamps. A date with a zero year, month or day becomes null. The packet contains 0,
 * 4, 7 or 11 bytes: the year (0 and 1), the month (2), the day (3), hours, minutes and seconds (4 to 6), and
 * microseconds (7 to 10). Missing parts are zero.
 */
function createTimestampWriter(dataType: 'DATE' | 'TIMESTAMP' | 'TIMESTAMPTZ', nullCounts: NulledCounts): DirectWriter {
  const moment: TimestampParts = { days: 0, seconds: 0, microseconds: 0 }
  return (cursor, out) => {
    const length = cursor.readLength()
    const position = cursor.skip(length)
    const { bytes, view } = cursor
    const hasDate = length > 0
    const year = hasDate ? view.getUint16(position, true) : 0
    const month = hasDate ? bytes[position + 2]! : 0
    const day = hasDate ? bytes[position + 3]! : 0
    if (year === 0 || month === 0 || day === 0) {
      nullCounts.zeroDates++
      out.writeNull()
      return
    }
    if (!isDay(year, month, day)) throw new UnstorableValue(`is not a valid ${dataType}`)
    moment.days = daysSince2000(year, month, day)
    const hasTime = length > 4
    const hasMicroseconds = length > 7
    moment.seconds = hasTime ? bytes[position + 4]! * 3600 + bytes[position + 5]! * 60 + bytes[position + 6]! : 0
    moment.microseconds = hasMicroseconds ? view.getUint32(position + 7, true) : 0
    writeTimestampField(out, moment, dataType)
  }
}
