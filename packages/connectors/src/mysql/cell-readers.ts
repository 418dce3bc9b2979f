import { type NulledCounts, type TupleBuffer, valueWriter, type StoredType } from '@sluice/row-stream'
import { type MysqlField, Types, mysqlColumnType, isBinary, isJson, isUnsigned } from './columns.ts'
import type { PacketCursor } from './packet-cursor.ts'
import { createDirectWriter } from './direct-writers.ts'

/**
 * Reads the values of one column from row packets. `write` and `read` both move the cursor past the value. `write`
 * throws `UnstorableValue` for a value that does not fit the stored type.
 */
export interface CellReader {
  write(cursor: PacketCursor, out: TupleBuffer): void
  read: ReadValue
  nulled: NulledCounts
}

/**
 * Returns a value without loss: integers as number or bigint; decimals, times and texts as text; binary data as bytes.
 */
export type ReadValue = (cursor: PacketCursor) => unknown

/**
 * Returns the reader for a column. It copies bytes if the stored type equals the column type, and converts values
 * otherwise.
 */
export function createCellReader(field: MysqlField, storedType: StoredType): CellReader {
  const nullCounts = { zeroDates: 0 }
  const readValue = createValueReader(field)
  const directWriter =
    storedType.dataType === mysqlColumnType(field).dataType
      ? createDirectWriter(field, storedType, nullCounts)
      : undefined
  if (directWriter) return { read: readValue, nulled: nullCounts, write: directWriter }
  const writeValue = valueWriter(storedType, nullCounts)
  return {
    read: readValue,
    nulled: nullCounts,
    write: (cursor, out) => {
      const value = readValue(cursor)
      if (isZeroDate(field, value)) {
        nullCounts.zeroDates++
        out.writeNull()
      } else writeValue(value, out)
    },
  }
}

/**
 * True if the value is a date such as 2026-00-00, which MySQL allows. It becomes null, because other systems have no
 * such dates.
 */
const isZeroDate = ({ columnType }: MysqlField, value: unknown): boolean =>
  (columnType === Types.DATE || columnType === Types.DATETIME || columnType === Types.TIMESTAMP) &&
  typeof value === 'string' &&
  /^0000|-00/.test(value)

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

const padTwoDigits = (value: number): string => String(value).padStart(2, '0')

/** Formats a date as `2026-11-21`. Year, month and day can be zero. */
function readDate(cursor: PacketCursor): string {
  return readDateFields(cursor, cursor.readLength())
}

/** Formats a timestamp as `2026-11-21 09:30:00`, with six decimal places if it has microseconds. */
function readTimestamp(cursor: PacketCursor): string {
  const length = cursor.readLength()
  const date = readDateFields(cursor, Math.min(length, 4))
  return length <= 4 ? `${date} 00:00:00` : `${date} ${formatClock(cursor, 0, length === 11)}`
}

/** Formats a TIME as `-838:59:59`. It can be negative, and longer than a day. */
function readTime(cursor: PacketCursor): string {
  const length = cursor.readLength()
  if (length === 0) return '00:00:00'
  const isNegative = cursor.view.getUint8(cursor.skip(1)) === 1
  const days = cursor.view.getUint32(cursor.skip(4), true)
  return (isNegative ? '-' : '') + formatClock(cursor, days * 24, length === 12)
}

function readDateFields(cursor: PacketCursor, byteLength: number): string {
  if (byteLength === 0) return '0000-00-00'
  const year = cursor.view.getUint16(cursor.skip(2), true)
  const position = cursor.skip(2)
  return `${String(year).padStart(4, '0')}-${padTwoDigits(cursor.bytes[position]!)}-${padTwoDigits(cursor.bytes[position + 1]!)}`
}

function formatClock(cursor: PacketCursor, hoursBefore: number, hasFraction: boolean): string {
  const position = cursor.skip(3)
  const seconds = `${padTwoDigits(hoursBefore + cursor.bytes[position]!)}:${padTwoDigits(cursor.bytes[position + 1]!)}:${padTwoDigits(cursor.bytes[position + 2]!)}`
  if (!hasFraction) return seconds
  const fraction = cursor.view.getUint32(cursor.skip(4), true)
  return fraction === 0 ? seconds : `${seconds}.${String(fraction).padStart(6, '0')}`
}
