import { epochDays, epochMicroseconds } from '../copy-binary/calendar.ts'
import { dateText, floatText, timestampText } from '../copy-binary/vector-text.ts'
import type { StoredType } from '../row-stream.ts'

const infinityOf = { DATE: 0x7fffffffn, TIMESTAMP: 0x7fffffffffffffffn, TIMESTAMPTZ: 0x7fffffffffffffffn }

/** Returns the value of a key of assembly/value-keys.ts, as PostgreSQL prints it. */
export function keyText(key: bigint, dataType: StoredType['dataType']): string {
  switch (dataType) {
    case 'BOOLEAN':
      return key === 0n ? 'false' : 'true'
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ': {
      const infinity = infinityOf[dataType]
      if (key === infinity || key === -infinity - 1n) return key > 0n ? 'infinity' : '-infinity'
      if (dataType === 'DATE') return dateText(Number(key) + epochDays)
      return timestampText(key + epochMicroseconds, dataType === 'TIMESTAMPTZ' ? '+00' : '')
    }
    case 'DOUBLE':
    case 'FLOAT':
      return floatText(doubleOf(key), dataType)
    default:
      return String(key)
  }
}

/** Returns the double of a key with the order of the numbers. */
export function doubleOf(key: bigint): number {
  keyView.setBigInt64(0, key < 0n ? key ^ 0x7fffffffffffffffn : key)
  return keyView.getFloat64(0)
}

const keyView = new DataView(new ArrayBuffer(8))

// The offsets of PostgreSQL's binary numeric. A group is four decimal digits; the weight is the power of 10,000 of the first group.
const groupCountOffset = 0
const weightOffset = 2
const signOffset = 4
const scaleOffset = 6
const groupsOffset = 8
const bytesPerGroup = 2

/** The signs of values that are not finite, and their texts. */
const nonFiniteTexts: Record<number, string> = { 0xc000: 'NaN', 0xd000: 'Infinity', 0xf000: '-Infinity' }
const negativeSign = 0x4000

/**
 * Returns PostgreSQL's binary numeric as digits, with the scale of its column if the column has one. Stops soon after `most` digits,
 * because a few bytes can stand for 131,072 digits.
 */
export function numericText(bytes: Buffer, columnScale?: number, most = Number.POSITIVE_INFINITY): string {
  const sign = bytes.readUInt16BE(signOffset)
  if (nonFiniteTexts[sign] !== undefined) return nonFiniteTexts[sign]
  const weight = bytes.readInt16BE(weightOffset)
  const scale = columnScale ?? bytes.readUInt16BE(scaleOffset)
  let whole = ''
  for (let power = Math.max(weight, 0); power >= 0 && whole.length <= most + 4; power--)
    whole += groupText(bytes, power)
  let fraction = ''
  for (let power = -1; fraction.length < Math.min(scale, most); power--) fraction += groupText(bytes, power)
  const text = whole.replace(/^0+(?=\d)/, '') + (scale > 0 ? `.${fraction.slice(0, scale)}` : '')
  return sign === negativeSign ? `-${text}` : text
}

const groupText = (bytes: Buffer, power: number) => String(numericGroup(bytes, power)).padStart(4, '0')

/** Returns the group of a numeric that stands for `power` of 10,000. Absent groups, which are zero or cut off, count as 0. */
function numericGroup(bytes: Buffer, power: number): number {
  const index = bytes.readInt16BE(weightOffset) - power
  if (index < 0 || index >= bytes.readUInt16BE(groupCountOffset)) return 0
  const groupOffset = groupsOffset + index * bytesPerGroup
  return groupOffset + bytesPerGroup <= bytes.length ? bytes.readUInt16BE(groupOffset) : 0
}

/** A double holds up to 308 digits, and bounds of a histogram with more than 200 digits could not be shown. */
const maxWeight = 48
const maxUnscaledDigits = 300
/** The maximum number of decimals in the bounds of a column that has no scale itself. */
const maxOpenScale = 12

/** Returns the decimals for the histogram of a column from its minimum and maximum; undefined if these have too many digits. */
export function histogramScale(extremes: readonly Buffer[], columnScale: number | undefined): number | undefined {
  const scales = extremes.map((bytes) => bytes.readUInt16BE(scaleOffset))
  const scale = columnScale ?? Math.min(Math.max(...scales), maxOpenScale)
  const weight = Math.max(...extremes.map((bytes) => bytes.readInt16BE(weightOffset)))
  return weight <= maxWeight && (weight + 1) * 4 + scale <= maxUnscaledDigits ? scale : undefined
}

/**
 * Returns a numeric times 10 to the power of `scale`; NaN if it is not finite or has more than 196 digits before the point. Exact up to
 * 12 digits; further ones are rounded: a double holds 15 digits, and whole groups may add three digits after the scale.
 */
export function unscaledNumeric(bytes: Buffer, scale: number): number {
  const sign = bytes.readUInt16BE(signOffset)
  const weight = bytes.readInt16BE(weightOffset)
  if (nonFiniteTexts[sign] !== undefined || weight > maxWeight) return Number.NaN
  const lastGroup = -Math.ceil(scale / 4)
  let digits = 0
  for (let power = Math.max(weight, 0); power >= lastGroup; power--)
    digits = digits * 10_000 + numericGroup(bytes, power)
  const unscaled = digits / 10 ** (-lastGroup * 4 - scale)
  return sign === negativeSign ? -unscaled : unscaled
}

/** Decodes a text that may end inside a character. */
export function wholeCharacters(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}
