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
/** The characters that each cell adds: quotes and a comma, or `null`. */
const charactersPerCell = 5

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
  while (position < bytes.length && rows.length < maxRows) {
    if (characters > maxCharacters) break
    position += fieldCountBytes
    const row = types.map(({ dataType }) => {
      const length = bytes.readInt32BE(position)
      position += 4
      characters += charactersPerCell
      if (length < 0) return null
      const value = bytes.subarray(position, position + length)
      position += length
      const readValue = valueReaders[dataType] ?? readText
      const cell = readValue(value, Math.max(minCutLength, maxCharacters - characters))
      characters += typeof cell === 'string' ? cell.length : length
      return cell
    })
    rows.push(row)
  }
  return { rows, characters }
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
 * Reads PostgreSQL's binary numeric: the number of groups of four digits, the weight of the first (a power of 10,000),
 * the sign, the decimal places, the groups.
 */
function readNumeric(value: Buffer): string {
  const weight = value.readInt16BE(2)
  const decimalPlaces = value.readInt16BE(6)
  const isLong = Math.max(0, weight + 1) * digitsPerGroup + decimalPlaces > maxNumberLength
  return isLong ? formatWithExponent(value, weight) : formatNumeric(value)
}

/** Formats the first digits of a number as `1.5e+2000`. A `…` means that more digits follow. */
function formatWithExponent(value: Buffer, weight: number): string {
  const groupCount = value.readInt16BE(0)
  const shownGroups = Math.min(groupCount, maxNumberLength / digitsPerGroup)
  let paddedDigits = ''
  for (let index = 0; index < shownGroups; index++)
    paddedDigits += String(value.readInt16BE(8 + index * 2)).padStart(digitsPerGroup, '0')
  const firstNonZero = paddedDigits.search(/[1-9]/)
  if (firstNonZero < 0) return '0'
  const digits = paddedDigits.slice(firstNonZero).replace(/0+$/, '')
  const exponent = weight * digitsPerGroup + digitsPerGroup - 1 - firstNonZero
  const decimals = digits.slice(1) + (shownGroups < groupCount ? '…' : '')
  const sign = value.readUInt16BE(4) === 0x4000 ? '-' : ''
  return `${sign}${digits[0]}${decimals && `.${decimals}`}e${exponent < 0 ? '' : '+'}${exponent}`
}
