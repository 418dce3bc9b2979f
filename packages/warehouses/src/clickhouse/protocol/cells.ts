import type { DataType } from '@sluice/contracts'
import { type CellWriter, type GrowingBuffer, MisfitCell, wholeNumber } from '../../rows/cell-writer.ts'
import { digitsOf } from '../types.ts'
import { type StreamCounts, convertCopyTuples } from '../../rows/convert-copy-tuples.ts'
import type { StoredType, TupleChunk } from '../../warehouse.ts'

/** Days from 1970-01-01 to 2000-01-01, PostgreSQL's epoch. */
const epochDays = 10_957
/** 1900-01-01 and 2299-12-31, the limits of ClickHouse dates, in days since 1970. */
const [firstDay, lastDay] = [-25_567, 120_529]
const microsecondsOfDay = 86_400_000_000n
const epochMicroseconds = BigInt(epochDays) * microsecondsOfDay
const firstMoment = BigInt(firstDay) * microsecondsOfDay
const lastMoment = BigInt(lastDay + 1) * microsecondsOfDay - 1n

/** Returns the writer for values of this data type in a column of this ClickHouse type. */
export function cellWriter(dataType: DataType, sqlType: string): CellWriter {
  switch (dataType) {
    case 'SMALLINT':
      return fixedWriter(2, (from, at, out) => out.bytes.writeInt16LE(from.getInt16(at), out.at))
    case 'INTEGER':
      return fixedWriter(4, (from, at, out) => out.bytes.writeInt32LE(from.getInt32(at), out.at))
    case 'FLOAT':
      return fixedWriter(4, (from, at, out) => out.bytes.writeUInt32LE(from.getUint32(at), out.at))
    case 'BIGINT':
    case 'DOUBLE':
      return fixedWriter(8, (from, at, out) => {
        out.bytes.writeUInt32LE(from.getUint32(at + 4), out.at)
        out.bytes.writeUInt32LE(from.getUint32(at), out.at + 4)
      })
    case 'BOOLEAN':
      return fixedWriter(1, (from, at, out) => (out.bytes[out.at] = from.getUint8(at)))
    case 'DATE':
      return fixedWriter(4, writeDay)
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      return fixedWriter(8, writeMoment)
    case 'DECIMAL': {
      const [precision = 76, scale = 38] = digitsOf(sqlType)
      return copyDecimal(precision, scale)
    }
    case 'JSONB':
      // A byte with the version of binary jsonb, then its text.
      return (from, at, length, out) => {
        if (length < 1 || from.getUint8(at) !== 1) throw new MisfitCell('incorrect binary data format')
        copyText(from, at + 1, length - 1, out)
      }
    default:
      return copyText
  }
}

function fixedWriter(width: number, write: (from: DataView, at: number, out: GrowingBuffer) => unknown): CellWriter {
  return (from, at, length, out) => {
    if (length !== width) throw new MisfitCell('incorrect binary data format')
    write(from, at, out)
    out.at += width
  }
}

function writeDay(from: DataView, at: number, out: GrowingBuffer): void {
  const day = from.getInt32(at) + epochDays
  if (day < firstDay || day > lastDay) throw misfitDate('date', BigInt(day) * microsecondsOfDay, 10)
  out.bytes.writeInt32LE(day, out.at)
}

function writeMoment(from: DataView, at: number, out: GrowingBuffer): void {
  const ticks = from.getBigInt64(at) + epochMicroseconds
  if (ticks < firstMoment || ticks > lastMoment) throw misfitDate('time', ticks, 19)
  out.bytes.writeBigInt64LE(ticks, out.at)
}

function misfitDate(what: string, microseconds: bigint, length: number): MisfitCell {
  const date = new Date(Number(microseconds / 1000n))
  const formatted = Number.isNaN(date.getTime()) ? 'infinity' : date.toISOString().slice(0, length).replace('T', ' ')
  return new MisfitCell(
    `the ${what} ${formatted} is not between 1900-01-01 and 2299-12-31, the range of dates in ClickHouse. Load the column as text, or correct the value at the source`,
  )
}

/** Writes the length as a LEB128 varint (seven bits per byte, lowest first), then the bytes. */
function copyText(from: DataView, at: number, length: number, out: GrowingBuffer): void {
  let rest = length
  while (rest >= 128) {
    out.bytes[out.at++] = (rest & 127) | 128
    rest >>>= 7
  }
  out.bytes[out.at++] = rest
  if (length < 32) for (let index = 0; index < length; index++) out.bytes[out.at + index] = from.getUint8(at + index)
  else out.bytes.set(new Uint8Array(from.buffer, from.byteOffset + at, length), out.at)
  out.at += length
}

/** Returns the writer of a ClickHouse decimal: a whole number of 4, 8, 16 or 32 bytes, times ten to the power of minus `scale`. */
function copyDecimal(precision: number, scale: number): CellWriter {
  const width = precision <= 9 ? 4 : precision <= 18 ? 8 : precision <= 38 ? 16 : 32
  const shape = { precision, scale, server: 'ClickHouse' }
  return (from, at, length, out) => {
    const { negative, magnitude } = wholeNumber(from, at, length, shape)
    if (typeof magnitude === 'number') writeSmall(negative ? -magnitude : magnitude, width, out)
    else writeLarge(negative ? -magnitude : magnitude, width, out)
    out.at += width
  }
}

function writeSmall(value: number, width: number, { bytes, at }: GrowingBuffer): void {
  const upper = Math.floor(value / 4_294_967_296)
  bytes.writeInt32LE(value | 0, at)
  if (width === 4) return
  bytes.writeInt32LE(upper, at + 4)
  for (let index = 8; index < width; index += 4) bytes.writeInt32LE(value < 0 ? -1 : 0, at + index)
}

function writeLarge(value: bigint, width: number, { bytes, at }: GrowingBuffer): void {
  if (width === 4) bytes.writeInt32LE(Number(value), at)
  else
    for (let index = 0; index < width; index += 8)
      bytes.writeBigInt64LE(BigInt.asIntN(64, value >> BigInt(index * 8)), at + index)
}

/** One column of the staging table, in the order of the tuples. */
interface BinaryColumn {
  label: string
  /** The type of the values in the tuples. */
  stored: StoredType
  /** The ClickHouse type of the column, unwrapped from `Nullable(…)`. */
  sqlType: string
  /** Key columns take no NULL. */
  nullable: boolean
}

/** Converts tuples of binary COPY to RowBinary: the value of a nullable column follows a byte that marks NULL. */
export function rowBinary(
  chunks: AsyncIterable<TupleChunk>,
  columns: readonly BinaryColumn[],
  qualifiedName: string,
  counted: StreamCounts,
): AsyncGenerator<Buffer> {
  const writers = columns.map(({ label, stored, sqlType, nullable }) => {
    const value = cellWriter(stored.dataType, sqlType)
    if (!nullable) return { label, value, none: undefined }
    return {
      label,
      none: (out: GrowingBuffer) => void (out.bytes[out.at++] = 1),
      value: (from: DataView, at: number, length: number, out: GrowingBuffer) => {
        out.bytes[out.at++] = 0
        value(from, at, length, out)
      },
    }
  })
  return convertCopyTuples(chunks, writers, { qualifiedName, counted })
}
