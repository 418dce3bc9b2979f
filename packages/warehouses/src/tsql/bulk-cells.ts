import type { DataType } from '@sluice/contracts'
import type { SqlType } from '../sql-warehouse/sql-dialect.ts'
import { type CellWriter, type GrowingBuffer, MisfitCell, readScaledInteger } from '../rows/cell-writer.ts'
import { digitsOf } from './column-types.ts'

/** Days from 0001-01-01, which is day 0 in SQL Server, to 2000-01-01, which is day 0 in PostgreSQL. */
const postgresEpochDay = 730_119
/** The bytes of a date, of a time with six decimals, and of a UTC offset in SQL Server's format. */
const dateBytes = 3
const timeBytes = 5
const offsetBytes = 2
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
        assertLength(length, 4)
        out.bytes[out.position++] = dateBytes
        writeDay(from.getInt32(position) + postgresEpochDay, out)
      }
    case 'TIMESTAMP':
      return timestampWriter({ hasOffset: false })
    case 'TIMESTAMPTZ':
      return timestampWriter({ hasOffset: true })
    case 'DECIMAL':
      return decimalWriter(type)
    case 'JSONB': {
      // Binary jsonb: one byte with the version 1, then the JSON text.
      const writeText = textWriter(type)
      return (from, position, length, out) => {
        if (length < 1 || from.getUint8(position) !== 1) throw new MisfitCell('incorrect binary data format')
        writeText(from, position + 1, length - 1, out)
      }
    }
    default:
      return textWriter(type)
  }
}

function assertLength(length: number, expected: number): void {
  if (length !== expected) throw new MisfitCell('incorrect binary data format')
}

/** Returns a writer for values of fixed size: one byte with the length, then that many bytes. */
function fixedWidthWriter(
  width: number,
  write: (from: DataView, position: number, out: GrowingBuffer) => unknown,
): CellWriter {
  return (from, position, length, out) => {
    assertLength(length, width)
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
  out.bytes.writeUIntLE(day, out.position, dateBytes)
  out.position += dateBytes
}

/**
 * Returns a writer for timestamps. It writes the length, the microseconds since midnight, the date and, with
 * `hasOffset`, the UTC offset 0. The value to convert is in microseconds since 2000-01-01; earlier times are negative.
 */
function timestampWriter({ hasOffset }: { hasOffset: boolean }): CellWriter {
  const width = timeBytes + dateBytes + (hasOffset ? offsetBytes : 0)
  return (from, position, length, out) => {
    assertLength(length, 8)
    const microseconds = from.getBigInt64(position)
    // The remainder of a negative number is negative, so a day is added first.
    const sinceMidnight = ((microseconds % microsecondsOfDay) + microsecondsOfDay) % microsecondsOfDay
    const day = Number((microseconds - sinceMidnight) / microsecondsOfDay) + postgresEpochDay
    out.bytes[out.position++] = width
    out.bytes.writeUIntLE(Number(sinceMidnight), out.position, timeBytes)
    out.position += timeBytes
    writeDay(day, out)
    if (hasOffset) {
      out.bytes.writeInt16LE(0, out.position)
      out.position += offsetBytes
    }
  }
}

/** Returns the stored size of a decimal in bytes, including its sign, by its precision in digits. */
export function decimalBytes(precision: number): number {
  if (precision <= 9) return 5
  if (precision <= 19) return 9
  return precision <= 28 ? 13 : 17
}

/**
 * Returns a writer for decimals. It writes the length, the sign (0 for negative numbers), and the digits as an integer
 * in groups of four bytes, the lowest group first.
 */
function decimalWriter(type: SqlType): CellWriter {
  const [precision = 38, scale = 0] = digitsOf(type)
  const shape = { precision, scale, server: 'SQL Server' }
  const width = decimalBytes(precision)
  return (from, position, length, out) => {
    const { negative, magnitude } = readScaledInteger(from, position, length, shape)
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

/** The prefix of a value of unknown length. Chunks follow, each after its length. A length of zero ends the value. */
const unknownLength = Buffer.from([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
/** The bytes of the length before a text of limited length, and before a chunk of a text of unlimited length. */
const textLengthBytes = 2
const chunkLengthBytes = 4

const bytesPerCodeUnit = 2
/** Sluice's column types have two UTF-16 code units per character, because some characters need two. */
const codeUnitsPerCharacter = 2

/**
 * Returns a writer for texts. It writes the length in bytes and the text in UTF-16. It throws MisfitCell if the text is
 * longer than the column.
 */
function textWriter(type: SqlType): CellWriter {
  const [, lengthInType] = /\((\d+)\)$/.exec(type) ?? []
  if (lengthInType === undefined) return writeLongText
  const maxCodeUnits = Number(lengthInType)
  const maxBytes = maxCodeUnits * bytesPerCodeUnit
  return (from, position, length, out) => {
    const lengthPosition = out.position
    out.position += textLengthBytes
    writeUtf16(from, position, length, out)
    const bytes = out.position - lengthPosition - textLengthBytes
    if (bytes > maxBytes)
      throw new MisfitCell(
        `the text is longer than the ${maxCodeUnits / codeUnitsPerCharacter} characters of the column`,
      )
    out.bytes.writeUInt16LE(bytes, lengthPosition)
  }
}

/** Writes a text for a column of unlimited length, as one chunk. An empty text has no chunk. */
function writeLongText(from: DataView, position: number, length: number, out: GrowingBuffer): void {
  unknownLength.copy(out.bytes, out.position)
  out.position += unknownLength.length
  if (length > 0) {
    const lengthPosition = out.position
    out.position += chunkLengthBytes
    writeUtf16(from, position, length, out)
    out.bytes.writeUInt32LE(out.position - lengthPosition - chunkLengthBytes, lengthPosition)
  }
  out.position = out.bytes.writeUInt32LE(0, out.position)
}

/** For shorter texts, copying bytes is faster than decoding and encoding. */
const minDecodedBytes = 32

/** Converts UTF-8 to SQL Server's UTF-16, which takes at most twice as many bytes. */
function writeUtf16(from: DataView, position: number, length: number, out: GrowingBuffer): void {
  if (length < minDecodedBytes && isAscii(from, position, length)) {
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
