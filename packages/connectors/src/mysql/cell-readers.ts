import { type NulledCounts, type TupleBuffer, valueWriter, type StoredType } from '@sluice/row-stream'
import { type MysqlField, Types, mysqlColumnType, isBinary, isJson, isUnsigned } from './column-types.ts'
import type { PacketCursor } from './packet-cursor.ts'
import { createDirectWriter } from './packet-value-writers.ts'

/**
 * Reads the values of one column from row packets. `write` and `read` both move the cursor past the value. `write`
 * throws `UnstorableValue` for a value that does not fit the stored type.
 */
export interface CellReader {
  write(cursor: PacketCursor, out: TupleBuffer): void
  read: ReadValue
  /** The number of values that became null. */
  nullCounts: NulledCounts
}

/**
 * Returns a value without loss: integers as number or bigint; decimals, times and texts as text; binary data as bytes.
 */
export type ReadValue = (cursor: PacketCursor) => unknown

/**
 * Returns the reader for a column. For a column that is stored with its own type, `write` encodes the bytes of the
 * packet directly, if the type allows that. Otherwise it reads the value and converts it to the stored type.
 */
export function createCellReader(field: MysqlField, storedType: StoredType): CellReader {
  // The writers increase these counts.
  const nullCounts = { zeroDates: 0 }
  const readValue = createValueReader(field)
  const hasOwnType = storedType.dataType === mysqlColumnType(field).dataType
  const directWriter = hasOwnType ? createDirectWriter(field, storedType, nullCounts) : undefined
  const writeConverted = valueWriter(storedType, nullCounts)
  const readAndConvert: CellReader['write'] = (cursor, out) => {
    const value = readValue(cursor)
    if (isZeroDate(field, value)) {
      nullCounts.zeroDates++
      out.writeNull()
    } else writeConverted(value, out)
  }
  return { read: readValue, nullCounts, write: directWriter ?? readAndConvert }
}

/**
 * True if the value is a date such as 2026-00-00, which MySQL allows. It becomes null, because other systems have no
 * such dates.
 */
const isZeroDate = ({ columnType }: MysqlField, value: unknown): boolean =>
  (columnType === Types.DATE || columnType === Types.DATETIME || columnType === Types.TIMESTAMP) &&
  typeof value === 'string' &&
  /^0000|-00/.test(value)

/** Returns the function that reads a value of the field's type in MySQL's binary protocol. */
function createValueReader(field: MysqlField): ReadValue {
  const isUnsignedField = isUnsigned(field)
  switch (field.columnType) {
    case Types.TINY:
      return isUnsignedField
        ? (cursor) => cursor.view.getUint8(cursor.skip(1))
        : (cursor) => cursor.view.getInt8(cursor.skip(1))
    case Types.SHORT:
    case Types.YEAR:
      return isUnsignedField
        ? (cursor) => cursor.view.getUint16(cursor.skip(2), true)
        : (cursor) => cursor.view.getInt16(cursor.skip(2), true)
    case Types.LONG:
    case Types.INT24:
      return isUnsignedField
        ? (cursor) => cursor.view.getUint32(cursor.skip(4), true)
        : (cursor) => cursor.view.getInt32(cursor.skip(4), true)
    case Types.LONGLONG:
      return isUnsignedField
        ? (cursor) => cursor.view.getBigUint64(cursor.skip(8), true)
        : (cursor) => cursor.view.getBigInt64(cursor.skip(8), true)
    case Types.FLOAT:
      return (cursor) => cursor.view.getFloat32(cursor.skip(4), true)
    case Types.DOUBLE:
      return (cursor) => cursor.view.getFloat64(cursor.skip(8), true)
    case Types.DATE:
    case Types.NEWDATE:
      return readDate
    case Types.DATETIME:
    case Types.TIMESTAMP:
      return readTimestamp
    case Types.TIME:
      return readTime
    case Types.BIT:
      return field.columnLength === 1 ? (cursor) => readBits(cursor) === 1n : readBits
    default:
      return isBinary(field) && !isJson(field) && !isDecimal(field) ? readBytes : readText
  }
}

/** True if the type is a decimal. The server sends decimals as digits, although it marks them as binary. */
const isDecimal = ({ columnType }: MysqlField): boolean =>
  columnType === Types.NEWDECIMAL || columnType === Types.DECIMAL

/** Reads a BIT value of any length as a number. */
function readBits(cursor: PacketCursor): bigint {
  const length = cursor.readLength()
  const from = cursor.skip(length)
  let value = 0n
  for (let index = 0; index < length; index++) value = (value << 8n) | BigInt(cursor.bytes[from + index]!)
  return value
}

function readBytes(cursor: PacketCursor): Uint8Array {
  const length = cursor.readLength()
  const from = cursor.skip(length)
  return cursor.bytes.subarray(from, from + length)
}

function readText(cursor: PacketCursor): string {
  const length = cursor.readLength()
  const from = cursor.skip(length)
  return cursor.bytes.toString('utf8', from, from + length)
}

/** The bytes of a date, of a timestamp with microseconds, and of a TIME with microseconds. */
const dateBytes = 4
const timestampBytes = 11
const longTimeBytes = 12

const padTwoDigits = (value: number): string => String(value).padStart(2, '0')

/** Formats a date as `2026-11-21`. Year, month and day can be zero. */
function readDate(cursor: PacketCursor): string {
  return readDateFields(cursor, cursor.readLength())
}

/** Formats a timestamp as `2026-11-21 09:30:00`, with six decimal places if it has microseconds. */
function readTimestamp(cursor: PacketCursor): string {
  const length = cursor.readLength()
  const date = readDateFields(cursor, Math.min(length, dateBytes))
  if (length <= dateBytes) return `${date} 00:00:00`
  const hasMicroseconds = length === timestampBytes
  return `${date} ${readTimeFields(cursor, 0, hasMicroseconds)}`
}

/** Formats a TIME as `-838:59:59`. It can be negative, and longer than a day. */
function readTime(cursor: PacketCursor): string {
  const length = cursor.readLength()
  if (length === 0) return '00:00:00'
  const isNegative = cursor.view.getUint8(cursor.skip(1)) === 1
  const days = cursor.view.getUint32(cursor.skip(4), true)
  const hasMicroseconds = length === longTimeBytes
  const time = readTimeFields(cursor, days * 24, hasMicroseconds)
  return isNegative ? `-${time}` : time
}

/** Reads year, month and day, and formats them as `2026-11-21`. Without any bytes, all are zero. */
function readDateFields(cursor: PacketCursor, byteLength: number): string {
  if (byteLength === 0) return '0000-00-00'
  const year = cursor.view.getUint16(cursor.skip(2), true)
  const position = cursor.skip(2)
  const month = padTwoDigits(cursor.bytes[position]!)
  const day = padTwoDigits(cursor.bytes[position + 1]!)
  return `${String(year).padStart(4, '0')}-${month}-${day}`
}

/** Reads hours, minutes and seconds, and formats them as `09:30:00`. `extraHours` is added to the hours. */
function readTimeFields(cursor: PacketCursor, extraHours: number, hasMicroseconds: boolean): string {
  const position = cursor.skip(3)
  const hours = padTwoDigits(extraHours + cursor.bytes[position]!)
  const minutes = padTwoDigits(cursor.bytes[position + 1]!)
  const seconds = padTwoDigits(cursor.bytes[position + 2]!)
  const time = `${hours}:${minutes}:${seconds}`
  if (!hasMicroseconds) return time
  const microseconds = cursor.view.getUint32(cursor.skip(4), true)
  return microseconds === 0 ? time : `${time}.${String(microseconds).padStart(6, '0')}`
}
