import type { DataType } from '@sluice/contracts'
import {
  dateText,
  epochDays,
  epochMicroseconds,
  formatNumeric,
  type StoredType,
  timestampText,
} from '@sluice/row-stream'

/**
 * A value in a preview. It is a string if JavaScript cannot represent the value exactly: BIGINT, DECIMAL, dates and
 * timestamps.
 */
export type PreviewCell = string | number | boolean | null | object

export interface ReadRows {
  rows: PreviewCell[][]
  /**
   * The approximate length of the rows as JSON, in characters. May exceed the limit by less than one row of short
   * values.
   */
  characters: number
}

/** A preview stops reading rows after this many characters. */
export const maxPreviewCharacters = 4_000_000

/** A value is never truncated to fewer characters than this. */
const minCutLength = 1000
/** The bytes before each row, with its number of fields. */
const fieldCountBytes = 2
/** The bytes before each value, with its length. The length of null is -1. */
const fieldLengthBytes = 4
/** The characters of a cell as JSON in addition to those of its value: quotes and a comma, or `null`. */
const charactersAroundCell = 5

/**
 * Reads rows in binary COPY format: at most `maxRows`, and none after the row that exceeds `maxCharacters`. The limit
 * counts characters instead of bytes, because a number of ten bytes can have 100,000 digits. Longer texts and JSON
 * documents are truncated and end in `…`.
 */
export function readTuples(
  chunk: Uint8Array,
  types: readonly StoredType[],
  maxRows: number,
  maxCharacters: number,
): ReadRows {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  const rows: PreviewCell[][] = []
  let characters = 0
  let position = 0
  while (position < bytes.length && rows.length < maxRows && characters <= maxCharacters) {
    position += fieldCountBytes
    const row: PreviewCell[] = []
    for (const { dataType } of types) {
      const length = bytes.readInt32BE(position)
      const isNull = length < 0
      const valueStart = position + fieldLengthBytes
      const valueEnd = isNull ? valueStart : valueStart + length
      const maxCellCharacters = Math.max(minCutLength, maxCharacters - characters - charactersAroundCell)
      const cell = isNull ? null : readCell(bytes.subarray(valueStart, valueEnd), dataType, maxCellCharacters)
      const cellCharacters = typeof cell === 'string' ? cell.length : valueEnd - valueStart
      characters += charactersAroundCell + cellCharacters
      position = valueEnd
      row.push(cell)
    }
    rows.push(row)
  }
  return { rows, characters }
}

/** Reads a value. A text or JSON document with more than `maxCharacters` characters is truncated. */
function readCell(value: Buffer, dataType: DataType, maxCharacters: number): PreviewCell {
  const readValue = valueReaders[dataType] ?? readText
  return readValue(value, maxCharacters)
}

type ValueReader = (value: Buffer, maxCharacters: number) => PreviewCell

const readText: ValueReader = (value, maxCharacters) => {
  if (value.length <= maxCharacters) return value.toString('utf8')
  let end = maxCharacters
  // Does not cut in the middle of a character.
  while (end > 0 && (value[end]! & 0xc0) === 0x80) end--
  return `${value.toString('utf8', 0, end)}…`
}

const valueReaders: Partial<Record<DataType, ValueReader>> = {
  SMALLINT: (value) => value.readInt16BE(),
  INTEGER: (value) => value.readInt32BE(),
  BIGINT: (value) => value.readBigInt64BE().toString(),
  // JSON cannot represent NaN and Infinity, so they become text.
  FLOAT: (value) => finiteOrName(Number(value.readFloatBE().toPrecision(7))),
  DOUBLE: (value) => finiteOrName(value.readDoubleBE()),
  BOOLEAN: (value) => value[0] === 1,
  DECIMAL: readNumeric,
  DATE: (value) => formatDay(value.readInt32BE()),
  TIMESTAMP: (value) => formatTimestamp(value.readBigInt64BE()),
  TIMESTAMPTZ: (value) => formatTimestamp(value.readBigInt64BE(), '+00'),
  JSONB: (value, maxCharacters) =>
    value.length <= maxCharacters
      ? (JSON.parse(value.toString('utf8', 1)) as PreviewCell)
      : readText(value.subarray(1), maxCharacters),
}

const finiteOrName = (value: number): PreviewCell => (Number.isFinite(value) ? value : String(value))

function formatDay(days: number): string {
  if (days === 0x7fff_ffff) return 'infinity'
  if (days === -0x8000_0000) return '-infinity'
  return dateText(days + epochDays)
}

function formatTimestamp(microseconds: bigint, zone = ''): string {
  if (microseconds === 0x7fff_ffff_ffff_ffffn) return 'infinity'
  if (microseconds === -0x8000_0000_0000_0000n) return '-infinity'
  return timestampText(microseconds + epochMicroseconds, zone)
}

/** A number with more characters is printed as `1.5e+2000`, with at most this many digits. */
const maxNumberLength = 1000
const digitsPerGroup = 4

/**
 * The positions in PostgreSQL's binary numeric: the number of groups of four digits, the weight of the first group (a
 * power of 10,000), the sign, the number of decimal places, the groups. Each has two bytes.
 */
const NUMERIC = { GROUP_COUNT: 0, WEIGHT: 2, SIGN: 4, DECIMAL_PLACES: 6, GROUPS: 8 } as const
const groupBytes = 2
const negativeSign = 0x4000

function readNumeric(value: Buffer): string {
  const weight = value.readInt16BE(NUMERIC.WEIGHT)
  const decimalPlaces = value.readInt16BE(NUMERIC.DECIMAL_PLACES)
  const isLong = Math.max(0, weight + 1) * digitsPerGroup + decimalPlaces > maxNumberLength
  return isLong ? formatWithExponent(value, weight) : formatNumeric(value)
}

/**
 * Formats the first digits of a binary numeric as `1.5e+2000`. A `…` means that more digits follow. `weight` is that of
 * its first group of four digits.
 */
function formatWithExponent(value: Buffer, weight: number): string {
  const groupCount = value.readInt16BE(NUMERIC.GROUP_COUNT)
  const shownGroupCount = Math.min(groupCount, maxNumberLength / digitsPerGroup)
  const shownGroups = Array.from({ length: shownGroupCount }, (_, index) =>
    String(value.readInt16BE(NUMERIC.GROUPS + index * groupBytes)).padStart(digitsPerGroup, '0'),
  )
  const shownDigits = shownGroups.join('')
  const leadingZeros = shownDigits.search(/[1-9]/)
  if (leadingZeros < 0) return '0'
  const significantDigits = shownDigits.slice(leadingZeros).replace(/0+$/, '')
  const exponentOfFirstDigit = weight * digitsPerGroup + digitsPerGroup - 1
  const exponent = exponentOfFirstDigit - leadingZeros
  const decimals = significantDigits.slice(1) + (shownGroupCount < groupCount ? '…' : '')
  const sign = value.readUInt16BE(NUMERIC.SIGN) === negativeSign ? '-' : ''
  return `${sign}${significantDigits[0]}${decimals && `.${decimals}`}e${exponent < 0 ? '' : '+'}${exponent}`
}
