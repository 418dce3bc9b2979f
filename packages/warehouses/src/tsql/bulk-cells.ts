import type { DataType } from '@sluice/contracts'
import type { SqlType } from '../sql-warehouse/sql-dialect.ts'
import { type CellWriter, type GrowingBuffer, MisfitCell, wholeNumber } from '../rows/cell-writer.ts'
import { digitsOf } from './types.ts'

/** Days from 0001-01-01, SQL Server's epoch, to 2000-01-01, PostgreSQL's epoch. */
const epochDays = 730_119
/** 9999-12-31, in days since 0001-01-01. */
const lastDay = 3_652_058
const microsecondsOfDay = 86_400_000_000n

/**
 * Returns the function that writes a binary value of this data type to a bulk-load row, for a column of this SQL Server
 * type.
 */
export function bulkCell(dataType: DataType, type: SqlType): CellWriter {
  switch (dataType) {
    case 'SMALLINT':
      return fixedWidthWriter(2, (from, position, out) => out.bytes.writeInt16LE(from.getInt16(position), out.position))
    case 'INTEGER':
      return fixedWidthWriter(4, (from, position, out) => out.bytes.writeInt32LE(from.getInt32(position), out.position))
    case 'BIGINT':
      return fixedWidthWriter(8, (from, position, out) =>
        out.bytes.writeBigInt64LE(from.getBigInt64(position), out.position),
      )
    case 'FLOAT':
      return fixedWidthWriter(4, (from, position, out) =>
        out.bytes.writeFloatLE(assertFiniteNumber(from.getFloat32(position)), out.position),
      )
    case 'DOUBLE':
      return fixedWidthWriter(8, (from, position, out) =>
        out.bytes.writeDoubleLE(assertFiniteNumber(from.getFloat64(position)), out.position),
      )
    case 'BOOLEAN':
      return fixedWidthWriter(1, (from, position, out) => out.bytes.writeUInt8(from.getUint8(position), out.position))
    case 'DATE':
      return (from, position, length, out) => {
        assertFits(length, 4)
        out.bytes[out.position++] = 3
        writeDay(from.getInt32(position) + epochDays, out)
      }
    case 'TIMESTAMP':
      return timestampWriter(8)
    case 'TIMESTAMPTZ':
      return timestampWriter(10)
    case 'DECIMAL':
      return decimalWriter(type)
    case 'JSONB':
      // Binary jsonb: one byte with the version 1, then the JSON text.
      return (from, position, length, out) => {
        if (length < 1 || from.getUint8(position) !== 1) throw new MisfitCell('incorrect binary data format')
        textWriter(type)(from, position + 1, length - 1, out)
      }
    default:
      return textWriter(type)
  }
}

function assertFits(length: number, width: number): void {
  if (length !== width) throw new MisfitCell('incorrect binary data format')
}

/** Returns a writer for values of fixed size: one byte with the length, then that many bytes. */
function fixedWidthWriter(
  width: number,
  write: (from: DataView, position: number, out: GrowingBuffer) => unknown,
): CellWriter {
  return (from, position, length, out) => {
    assertFits(length, width)
    out.bytes[out.position++] = width
    write(from, position, out)
    out.position += width
  }
}

function assertFiniteNumber(value: number): number {
  if (Number.isFinite(value)) return value
  throw new MisfitCell(
    `SQL Server cannot store the number ${value}. Load the column as text, or correct the value at the source`,
  )
}

/** Writes a date as days since 0001-01-01. */
function writeDay(day: number, out: GrowingBuffer): void {
  if (day < 0 || day > lastDay)
    throw new MisfitCell(
      'the date is not between 0001-01-01 and 9999-12-31, the range of dates in SQL Server. Load the column as text, or correct the value at the source',
    )
  out.bytes.writeUIntLE(day, out.position, 3)
  out.position += 3
}

/**
 * Returns a writer for timestamps: microseconds of the day in 5 bytes, the date in 3 and, for a timestamp with time
 * zone, the UTC offset in 2.
 */
function timestampWriter(width: 8 | 10): CellWriter {
  return (from, position, length, out) => {
    assertFits(length, 8)
    const microseconds = from.getBigInt64(position)
    const sinceMidnight = ((microseconds % microsecondsOfDay) + microsecondsOfDay) % microsecondsOfDay
    const day = Number((microseconds - sinceMidnight) / microsecondsOfDay) + epochDays
    out.bytes[out.position++] = width
    out.bytes.writeUIntLE(Number(sinceMidnight), out.position, 5)
    out.position += 5
    writeDay(day, out)
    if (width === 10) {
      out.bytes.writeInt16LE(0, out.position)
      out.position += 2
    }
  }
}

/** Returns the stored size of a decimal in bytes, including its sign, by its precision in digits. */
export function decimalBytes(precision: number): number {
  if (precision <= 9) return 5
  if (precision <= 19) return 9
  return precision <= 28 ? 13 : 17
}

/** Returns a writer for decimals: the length, the sign, then the digits as an integer. */
function decimalWriter(type: SqlType): CellWriter {
  const [precision = 38, scale = 0] = digitsOf(type)
  const shape = { precision, scale, server: 'SQL Server' }
  const width = decimalBytes(precision)
  return (from, position, length, out) => {
    const { negative, magnitude } = wholeNumber(from, position, length, shape)
    out.bytes[out.position++] = width
    out.bytes[out.position++] = negative ? 0 : 1
    let remaining = BigInt(magnitude)
    for (let index = 0; index < width - 1; index += 4) {
      out.bytes.writeUInt32LE(Number(remaining & 0xffff_ffffn), out.position)
      remaining >>= 32n
      out.position += 4
    }
  }
}

/** The prefix of a value of unknown length. Parts follow, each after its length; a length of zero ends the value. */
const unknownLength = Buffer.from([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])

/** Returns a writer for texts. It throws MisfitCell if the text is longer than the column. */
function textWriter(type: SqlType): CellWriter {
  const [, maxLength] = /\((\d+)\)$/.exec(type) ?? []
  if (maxLength === undefined) return writeLongText
  return (from, position, length, out) => {
    const begin = out.position
    out.position += 2
    writeUtf16(from, position, length, out)
    const bytes = out.position - begin - 2
    if (bytes > 2 * Number(maxLength))
      throw new MisfitCell(`the text is longer than the ${Number(maxLength) / 2} characters of the column`)
    out.bytes.writeUInt16LE(bytes, begin)
  }
}

function writeLongText(from: DataView, position: number, length: number, out: GrowingBuffer): void {
  unknownLength.copy(out.bytes, out.position)
  out.position += unknownLength.length
  if (length > 0) {
    const begin = out.position
    out.position += 4
    writeUtf16(from, position, length, out)
    out.bytes.writeUInt32LE(out.position - begin - 4, begin)
  }
  out.position = out.bytes.writeUInt32LE(0, out.position)
}

/** Converts UTF-8 to SQL Server's UTF-16, which takes at most twice as many bytes. */
function writeUtf16(from: DataView, position: number, length: number, out: GrowingBuffer): void {
  if (length < 32 && isAscii(from, position, length)) {
    for (let index = 0; index < length; index++) {
      out.bytes[out.position++] = from.getUint8(position + index)
      out.bytes[out.position++] = 0
    }
    return
  }
  const text = Buffer.from(from.buffer, from.byteOffset + position, length).toString()
  out.position += out.bytes.write(text, out.position, 'utf16le')
}

function isAscii(from: DataView, position: number, length: number): boolean {
  for (let index = 0; index < length; index++) if (from.getUint8(position + index) > 127) return false
  return true
}
