import type { DataType } from '@sluice/contracts'
import { decimalText } from '@sluice/row-stream'
import type { TableFill, SqlType } from '../sql-warehouse/sql-dialect.ts'
import { type CellWriter, type GrowingBuffer, MisfitCell, readScaledInteger } from '../rows/cell-writer.ts'
import { longestText, parseTypeModifiers } from './column-types.ts'
import { type StreamCounts, convertCopyTuples } from '../rows/convert-copy-tuples.ts'
import type { RowContent } from '../warehouse.ts'

const malformedValue = () => new MisfitCell('incorrect binary data format')

const microsecondsOfDay = 86_400_000_000n
const millisecondsOfDay = 86_400_000
/** 2000-01-01 as Unix milliseconds: day 0 of PostgreSQL's binary dates. */
const postgresEpoch = Date.UTC(2000, 0, 1)
const quoteByte = 0x22

/** Returns the function that writes a binary value of this data type as CSV, for a column of this Redshift type. */
export function csvCell(dataType: DataType, type: SqlType): CellWriter {
  switch (dataType) {
    case 'SMALLINT':
      return fixedWriter(2, (from, position) => String(from.getInt16(position)))
    case 'INTEGER':
      return fixedWriter(4, (from, position) => String(from.getInt32(position)))
    case 'BIGINT':
      return fixedWriter(8, (from, position) => String(from.getBigInt64(position)))
    case 'FLOAT':
      return fixedWriter(4, (from, position) => String(from.getFloat32(position)))
    case 'DOUBLE':
      return fixedWriter(8, (from, position) => String(from.getFloat64(position)))
    case 'BOOLEAN':
      return fixedWriter(1, (from, position) => (from.getUint8(position) === 0 ? 'f' : 't'))
    case 'DATE':
      return fixedWriter(4, (from, position) => formatDay(from.getInt32(position)))
    case 'TIMESTAMP':
      return fixedWriter(8, (from, position) => formatTimestamp(from.getBigInt64(position)))
    case 'TIMESTAMPTZ':
      return fixedWriter(8, (from, position) => `${formatTimestamp(from.getBigInt64(position))}+00`)
    case 'DECIMAL':
      return decimalWriter(type)
    case 'JSONB': {
      // Binary jsonb: one byte with the version 1, then the JSON text.
      const write = textWriter(type)
      return (from, position, length, out) => {
        if (length < 1 || from.getUint8(position) !== 1) throw malformedValue()
        write(from, position + 1, length - 1, out)
      }
    }
    default:
      return textWriter(type)
  }
}

/** Appends a text that contains only ASCII characters. */
function writeAscii(out: GrowingBuffer, text: string): void {
  out.position += out.bytes.write(text, out.position, 'latin1')
}

/** Returns a writer for values of fixed size in bytes. `format` reads the value and returns its text. */
function fixedWriter(width: number, format: (from: DataView, position: number) => string): CellWriter {
  return (from, position, length, out) => {
    if (length !== width) throw malformedValue()
    writeAscii(out, format(from, position))
  }
}

/** Formats days since 2000-01-01 as a date, such as `2026-01-31`. */
function formatDay(days: number): string {
  const date = new Date(postgresEpoch + days * millisecondsOfDay)
  const year = date.getUTCFullYear()
  if (!(year >= 1 && year <= 9999))
    throw new MisfitCell(
      'the date is not between 0001-01-01 and 9999-12-31, the range of dates that Redshift loads. Load the column as text, or correct the value at the source',
    )
  return date.toISOString().slice(0, 10)
}

/** Formats microseconds since 2000-01-01, such as `2026-01-31 10:00:00.000000`. Earlier times are negative. */
function formatTimestamp(microseconds: bigint): string {
  // The remainder of a negative number is negative, so a day is added first.
  const sinceMidnight = ((microseconds % microsecondsOfDay) + microsecondsOfDay) % microsecondsOfDay
  const day = formatDay(Number((microseconds - sinceMidnight) / microsecondsOfDay))
  const seconds = Number(sinceMidnight / 1_000_000n)
  const twoDigits = (number: number) => String(number).padStart(2, '0')
  const time = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60].map(twoDigits).join(':')
  return `${day} ${time}.${String(sinceMidnight % 1_000_000n).padStart(6, '0')}`
}

/** Returns a writer for decimals. It writes as many decimal places as the column has, such as `1.50`. */
function decimalWriter(type: SqlType): CellWriter {
  const [precision = 38, scale = 0] = parseTypeModifiers(type)
  const shape = { precision, scale, server: 'Redshift' }
  return (from, position, length, out) => {
    const { negative, magnitude } = readScaledInteger(from, position, length, shape)
    const digits = decimalText(magnitude, scale)
    writeAscii(out, negative ? `-${digits}` : digits)
  }
}

/**
 * Returns a writer that quotes the text and doubles quotes inside it, so that no character has a special meaning in
 * CSV.
 */
function textWriter(type: SqlType): CellWriter {
  const [maxLength = longestText] = parseTypeModifiers(type)
  return (from, position, length, out) => {
    if (length > maxLength)
      throw new MisfitCell(
        `the text has ${length.toLocaleString('en')} bytes, and ${maxLength.toLocaleString('en')} is the maximum of the column in Redshift. Shorten the text at the source, or exclude the column`,
      )
    const { bytes } = out
    let outPosition = out.position
    bytes[outPosition++] = quoteByte
    for (let index = position; index < position + length; index++) {
      const byte = from.getUint8(index)
      if (byte === quoteByte) bytes[outPosition++] = quoteByte
      bytes[outPosition++] = byte
    }
    bytes[outPosition++] = quoteByte
    out.position = outPosition
  }
}

const comma = 0x2c
const newline = 0x0a

/**
 * Yields the rows as CSV, in chunks of complete lines of about one megabyte. Writes NULL as `nullWord`, a random word
 * that no value equals. Adds the numbers of rows and bytes to `counts`.
 */
export function csvRows(
  { columns, quotedPlace }: TableFill,
  content: RowContent,
  nullWord: string,
  counts: StreamCounts,
): AsyncGenerator<Buffer> {
  const writers = columns.map(({ label, type, nullable, stored }, index) => {
    const writeCell = csvCell(stored.dataType, type)
    const isLastColumn = index === columns.length - 1
    const delimiter = isLastColumn ? newline : comma
    const writeValue: CellWriter = (from, position, length, out) => {
      writeCell(from, position, length, out)
      out.bytes[out.position++] = delimiter
    }
    const writeNull = (out: GrowingBuffer) => {
      writeAscii(out, nullWord)
      out.bytes[out.position++] = delimiter
    }
    return { label, writeValue, writeNull: nullable ? writeNull : undefined }
  })
  const tuples = content.rows(columns.map(({ stored }) => stored))
  return convertCopyTuples(tuples, writers, { qualifiedName: quotedPlace, counts })
}
