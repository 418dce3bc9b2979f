import type { DataType } from '@sluice/contracts'
import { dateText, epochDays, epochMicroseconds, type StoredType, timestampText } from '@sluice/row-stream'

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
    position += 2
    rows.push(
      types.map(({ dataType }) => {
        const length = bytes.readInt32BE(position)
        position += 4
        characters += charactersPerCell
        if (length < 0) return null
        const value = bytes.subarray(position, position + length)
        position += length
        const cell = (valueReaders[dataType] ?? readText)(value, Math.max(minCutLength, maxCharacters - characters))
        characters += typeof cell === 'string' ? cell.length : length
        return cell
      }),
    )
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

const nonFiniteNames: Record<number, string> = { 0xc000: 'NaN', 0xd000: 'Infinity', 0xf000: '-Infinity' }

/**
 * The maximum characters of a number that is written out. Longer numbers become `1.5e+2000`, with at most this many
 * digits.
 */
const maxNumberLength = 1000

/**
 * Reads PostgreSQL's binary numeric: the count of base-10,000 digits, the weight of the first, the sign, and the
 * number of decimal places.
 */
function readNumeric(value: Buffer): string {
  const [groupCount, weight, sign, decimalPlaces] = [
    value.readInt16BE(0),
    value.readInt16BE(2),
    value.readUInt16BE(4),
    value.readInt16BE(6),
  ]
  if (nonFiniteNames[sign]) return nonFiniteNames[sign]
  const zeroGroups = (formatGroups: number) => '0000'.repeat(Math.max(0, formatGroups))
  // Groups before the first and after the last are zeros.
  const formatGroups = (from: number, to: number) => {
    let digits = zeroGroups(Math.min(0, to + 1) - from)
    const end = Math.min(groupCount - 1, to)
    for (let index = Math.max(0, from); index <= end; index++)
      digits += String(value.readInt16BE(8 + index * 2)).padStart(4, '0')
    return digits + zeroGroups(to - Math.max(end, from - 1))
  }
  const minus = sign === 0x4000 ? '-' : ''
  if (Math.max(0, weight + 1) * 4 + decimalPlaces > maxNumberLength) {
    const shownGroups = Math.min(groupCount, maxNumberLength / 4)
    const paddedDigits = formatGroups(0, shownGroups - 1)
    const firstNonZero = paddedDigits.search(/[1-9]/)
    if (firstNonZero < 0) return '0'
    const digits = paddedDigits.slice(firstNonZero).replace(/0+$/, '')
    const exponent = weight * 4 + 3 - firstNonZero
    const decimals = digits.slice(1) + (shownGroups < groupCount ? '…' : '')
    return `${minus}${digits[0]}${decimals && `.${decimals}`}e${exponent < 0 ? '' : '+'}${exponent}`
  }
  const wholeDigits = formatGroups(0, weight).replace(/^0+(?=\d)/, '') || '0'
  const fraction = formatGroups(weight + 1, weight + Math.ceil(decimalPlaces / 4)).slice(0, decimalPlaces)
  return `${minus}${wholeDigits}${fraction && `.${fraction}`}`
}
