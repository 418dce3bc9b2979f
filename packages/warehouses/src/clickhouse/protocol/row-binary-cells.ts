import type { DataType } from '@sluice/contracts'
import { type CellWriter, type GrowingBuffer, MisfitCell, readScaledInteger } from '../../rows/cell-writer.ts'
import { digitsOf } from '../column-types.ts'
import { type StreamCounts, convertCopyTuples } from '../../rows/convert-copy-tuples.ts'
import type { StoredType, TupleChunk } from '../../warehouse.ts'

/** Days from 1970-01-01 to 2000-01-01, PostgreSQL's epoch. PostgreSQL counts dates from there. */
const epochDays = 10_957
/** 1900-01-01 and 2299-12-31, the limits of ClickHouse dates, in days since 1970. */
const [firstDay, lastDay] = [-25_567, 120_529]
const microsecondsOfDay = 86_400_000_000n
const epochMicroseconds = BigInt(epochDays) * microsecondsOfDay
const firstMoment = BigInt(firstDay) * microsecondsOfDay
const lastMoment = BigInt(lastDay + 1) * microsecondsOfDay - 1n

/**
 * Returns the function that converts a value of this data type to a column of this ClickHouse type: from PostgreSQL's
 * binary format, highest byte first, to RowBinary, lowest byte first.
 */
export function cellWriter(dataType: DataType, sqlType: string): CellWriter {
  switch (dataType) {
    case 'SMALLINT':
      return fixedWriter(2, (from, position, out) => out.bytes.writeInt16LE(from.getInt16(position), out.position))
    case 'INTEGER':
      return fixedWriter(4, (from, position, out) => out.bytes.writeInt32LE(from.getInt32(position), out.position))
    case 'FLOAT':
      // Copies the bits as an integer. Both servers store floating-point numbers in the IEEE 754 format.
      return fixedWriter(4, (from, position, out) => out.bytes.writeUInt32LE(from.getUint32(position), out.position))
    case 'BIGINT':
    case 'DOUBLE':
      // Copies two halves of 32 bits, because a 64-bit integer would need a slow bigint. The low half comes first.
      return fixedWriter(8, (from, position, out) => {
        const highHalf = from.getUint32(position)
        const lowHalf = from.getUint32(position + 4)
        out.bytes.writeUInt32LE(lowHalf, out.position)
        out.bytes.writeUInt32LE(highHalf, out.position + 4)
      })
    case 'BOOLEAN':
      return fixedWriter(1, (from, position, out) => out.bytes.writeUInt8(from.getUint8(position), out.position))
    case 'DATE':
      return fixedWriter(4, writeDay)
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return fixedWriter(8, writeMoment)
    case 'DECIMAL': {
      const [precision = 76, scale = 38] = digitsOf(sqlType)
      return decimalWriter(precision, scale)
    }
    case 'JSONB':
      // Binary jsonb: one byte with the version 1, then the JSON text.
      return (from, position, length, out) => {
        if (length < 1 || from.getUint8(position) !== 1) throw new MisfitCell('incorrect binary data format')
        copyText(from, position + 1, length - 1, out)
      }
    default:
      return copyText
  }
}

/** Returns a writer for values of exactly `width` bytes. */
function fixedWriter(
  width: number,
  write: (from: DataView, position: number, out: GrowingBuffer) => unknown,
): CellWriter {
  return (from, position, length, out) => {
    if (length !== width) throw new MisfitCell('incorrect binary data format')
    write(from, position, out)
    out.position += width
  }
}

/** Writes a date as days since 1970. */
function writeDay(from: DataView, position: number, out: GrowingBuffer): void {
  const day = from.getInt32(position) + epochDays
  if (day < firstDay || day > lastDay) throw misfitDate('date', BigInt(day) * microsecondsOfDay, 10)
  out.bytes.writeInt32LE(day, out.position)
}

/** Writes a timestamp as microseconds since 1970. */
function writeMoment(from: DataView, position: number, out: GrowingBuffer): void {
  const microseconds = from.getBigInt64(position) + epochMicroseconds
  if (microseconds < firstMoment || microseconds > lastMoment) throw misfitDate('time', microseconds, 19)
  out.bytes.writeBigInt64LE(microseconds, out.position)
}

/**
 * Builds the error for a date outside ClickHouse's range. `length` is the number of characters of the ISO date to show:
 * 10 for a date, 19 for a time.
 */
function misfitDate(noun: 'date' | 'time', microseconds: bigint, length: number): MisfitCell {
  const date = new Date(Number(microseconds / 1000n))
  const dateText = Number.isNaN(date.getTime()) ? 'infinity' : date.toISOString().slice(0, length).replace('T', ' ')
  return new MisfitCell(
    `the ${noun} ${dateText} is not between 1900-01-01 and 2299-12-31, the range of dates in ClickHouse. Load the column as text, or correct the value at the source`,
  )
}

/** Below this length in bytes, copying in a loop is faster than creating a view of the bytes. */
const shortTextLength = 32

/** Writes the length as a LEB128 varint (seven bits per byte, lowest first), then the bytes. */
function copyText(from: DataView, position: number, length: number, out: GrowingBuffer): void {
  let remainingLength = length
  while (remainingLength >= 128) {
    out.bytes[out.position++] = (remainingLength & 127) | 128
    remainingLength >>>= 7
  }
  out.bytes[out.position++] = remainingLength
  if (length < shortTextLength) {
    for (let index = 0; index < length; index++) out.bytes[out.position + index] = from.getUint8(position + index)
  } else {
    out.bytes.set(new Uint8Array(from.buffer, from.byteOffset + position, length), out.position)
  }
  out.position += length
}

/** ClickHouse's storage width of a decimal in bytes, by its precision in digits. */
const decimalWidths = [
  { maxDigits: 9, bytes: 4 },
  { maxDigits: 18, bytes: 8 },
  { maxDigits: 38, bytes: 16 },
  { maxDigits: Infinity, bytes: 32 },
]

/**
 * Returns the writer of a ClickHouse decimal. Its stored form is an integer of 4, 8, 16 or 32 bytes: the value times
 * 10^`scale`.
 */
function decimalWriter(precision: number, scale: number): CellWriter {
  const width = decimalWidths.find(({ maxDigits }) => precision <= maxDigits)!.bytes
  const shape = { precision, scale, server: 'ClickHouse' }
  return (from, position, length, out) => {
    const { negative, magnitude } = readScaledInteger(from, position, length, shape)
    if (typeof magnitude === 'number') writeSafeInteger(negative ? -magnitude : magnitude, width, out)
    else writeBigint(negative ? -magnitude : magnitude, width, out)
    out.position += width
  }
}

const two32 = 2 ** 32

/** Writes an integer below 2^53 as `width` bytes (4, 8, 16 or 32), lowest byte first. */
function writeSafeInteger(value: number, width: number, { bytes, position }: GrowingBuffer): void {
  // `| 0` keeps the lowest 32 bits.
  bytes.writeInt32LE(value | 0, position)
  if (width === 4) return
  bytes.writeInt32LE(Math.floor(value / two32), position + 4)
  const signExtension = value < 0 ? -1 : 0
  for (let index = 8; index < width; index += 4) bytes.writeInt32LE(signExtension, position + index)
}

/** Writes an integer as `width` bytes (4, 8, 16 or 32), lowest byte first. */
function writeBigint(value: bigint, width: number, { bytes, position }: GrowingBuffer): void {
  if (width === 4) {
    bytes.writeInt32LE(Number(value), position)
    return
  }
  for (let index = 0; index < width; index += 8)
    bytes.writeBigInt64LE(BigInt.asIntN(64, value >> BigInt(index * 8)), position + index)
}

/** One column of the staging table. Columns have the same order as the values of a tuple. */
interface BinaryColumn {
  label: string
  /** The type of the column's values in the tuples. */
  stored: StoredType
  /** The ClickHouse type of the column, unwrapped from `Nullable(…)`. */
  sqlType: string
  /** False for key columns, which cannot be NULL. */
  nullable: boolean
}

/** In RowBinary, one of these bytes precedes each value of a nullable column. No value follows `nullMark`. */
const nullMark = 1
const notNullMark = 0

/**
 * Converts rows in PostgreSQL's binary COPY format to ClickHouse's RowBinary format. `counts` receives the numbers of
 * converted rows and bytes.
 */
export function rowBinary(
  chunks: AsyncIterable<TupleChunk>,
  columns: readonly BinaryColumn[],
  qualifiedName: string,
  counts: StreamCounts,
): AsyncGenerator<Buffer> {
  const writers = columns.map(({ label, stored, sqlType, nullable }) => {
    const writeValue = cellWriter(stored.dataType, sqlType)
    if (!nullable) return { label, writeValue, writeNull: undefined }
    return {
      label,
      writeNull(out: GrowingBuffer) {
        out.bytes[out.position++] = nullMark
      },
      writeValue(from: DataView, position: number, length: number, out: GrowingBuffer) {
        out.bytes[out.position++] = notNullMark
        writeValue(from, position, length, out)
      },
    }
  })
  return convertCopyTuples(chunks, writers, { qualifiedName, counts })
}
