import { epochDays, epochMicroseconds } from '../copy-binary/date-and-time-encoding.ts'
import { negativeSign } from '../copy-binary/numeric-buffer.ts'
import { dateText, floatText, timestampText } from '../copy-binary/vector-text.ts'
import type { StoredType } from '../row-stream.ts'

const infinityKeys = { DATE: 0x7fffffffn, TIMESTAMP: 0x7fffffffffffffffn, TIMESTAMPTZ: 0x7fffffffffffffffn }

/** Formats the value of a sort key (see assembly/sort-keys.ts) as PostgreSQL prints it. */
export function formatKey(key: bigint, dataType: StoredType['dataType']): string {
  switch (dataType) {
    case 'BOOLEAN':
      return key === 0n ? 'false' : 'true'
    case 'DATE':
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ': {
      const infinity = infinityKeys[dataType]
      if (key === infinity) return 'infinity'
      if (key === -infinity - 1n) return '-infinity'
      if (dataType === 'DATE') return dateText(Number(key) + epochDays)
      return timestampText(key + epochMicroseconds, dataType === 'TIMESTAMPTZ' ? '+00' : '')
    }
    case 'DOUBLE':
    case 'FLOAT':
      return floatText(parseDoubleKey(key), dataType)
    default:
      return String(key)
  }
}

const keyView = new DataView(new ArrayBuffer(8))
/** All bits of a double except the sign. Sort keys of negative numbers have these bits inverted. */
const magnitudeBits = 0x7fffffffffffffffn

/** Converts the sort key of a double, as in assembly/sort-keys.ts, back to the double. */
export function parseDoubleKey(key: bigint): number {
  keyView.setBigInt64(0, key < 0n ? key ^ magnitudeBits : key)
  return keyView.getFloat64(0)
}

// Offsets in PostgreSQL's binary numeric. A group is four decimal digits. The weight is the power of 10,000 of the
// first group.
const groupCountOffset = 0
const weightOffset = 2
const signOffset = 4
const scaleOffset = 6
const groupsOffset = 8
const bytesPerGroup = 2
const digitsPerGroup = 4

/** The sign fields of values that are not finite, and their texts. */
const nonFiniteTexts: Record<number, string> = { 0xc000: 'NaN', 0xd000: 'Infinity', 0xf000: '-Infinity' }

/**
 * Formats PostgreSQL's binary numeric as digits, with its column's scale if that is declared. Stops soon after
 * `maxDigits` digits, because a few bytes can represent 131,072 digits.
 */
export function formatNumeric(bytes: Buffer, columnScale?: number, maxDigits = Number.POSITIVE_INFINITY): string {
  const sign = bytes.readUInt16BE(signOffset)
  if (nonFiniteTexts[sign] !== undefined) return nonFiniteTexts[sign]
  const weight = bytes.readInt16BE(weightOffset)
  const scale = columnScale ?? bytes.readUInt16BE(scaleOffset)
  // The first group has up to three leading zeros.
  const integerGroups = formatGroups(bytes, Math.max(weight, 0), maxDigits + digitsPerGroup)
  const integer = integerGroups.replace(/^0+(?=\d)/, '')
  const fraction = formatFraction(bytes, Math.min(scale, maxDigits)).slice(0, scale)
  const text = scale > 0 ? `${integer}.${fraction}` : integer
  return sign === negativeSign ? `-${text}` : text
}

/** Formats the groups before the point, from this power of 10,000 on. Stops after `maxDigits` digits. */
function formatGroups(bytes: Buffer, firstPower: number, maxDigits: number): string {
  let digits = ''
  for (let power = firstPower; power >= 0 && digits.length <= maxDigits; power--) digits += formatGroup(bytes, power)
  return digits
}

/** Formats the groups after the point, which have at least `minDigits` digits together. */
function formatFraction(bytes: Buffer, minDigits: number): string {
  let digits = ''
  for (let power = -1; digits.length < minDigits; power--) digits += formatGroup(bytes, power)
  return digits
}

/** Formats the four digits of a group. */
const formatGroup = (bytes: Buffer, power: number) => String(numericGroup(bytes, power)).padStart(digitsPerGroup, '0')

/** Returns the group of a numeric for a power of 10,000. Returns 0 for a group that is absent or truncated. */
function numericGroup(bytes: Buffer, power: number): number {
  const index = bytes.readInt16BE(weightOffset) - power
  if (index < 0 || index >= bytes.readUInt16BE(groupCountOffset)) return 0
  const groupOffset = groupsOffset + index * bytesPerGroup
  return groupOffset + bytesPerGroup <= bytes.length ? bytes.readUInt16BE(groupOffset) : 0
}

/**
 * The maximum weight of a numeric in a histogram. A double has up to 308 digits, but bounds with more than 200 digits
 * could not be shown.
 */
const maxWeight = 48
const maxUnscaledDigits = 300
/** The maximum number of decimal places in histogram bounds of a column without a declared scale. */
const maxOpenScale = 12

/**
 * Returns the number of decimal places for a column's histogram, from its minimum and maximum. Returns undefined if
 * these have too many digits.
 */
export function histogramScale(extremes: readonly Buffer[], columnScale: number | undefined): number | undefined {
  const scales = extremes.map((bytes) => bytes.readUInt16BE(scaleOffset))
  const scale = columnScale ?? Math.min(Math.max(...scales), maxOpenScale)
  const weight = Math.max(...extremes.map((bytes) => bytes.readInt16BE(weightOffset)))
  const unscaledDigits = (weight + 1) * digitsPerGroup + scale
  return weight <= maxWeight && unscaledDigits <= maxUnscaledDigits ? scale : undefined
}

/**
 * Returns a numeric times 10^`scale`. NaN if it is not finite or has more than 196 digits before the point. Exact up to
 * 12 digits, rounded beyond: a double represents 15 digits, and whole base-10,000 groups may add three digits after the
 * scale.
 */
export function toUnscaledNumber(bytes: Buffer, scale: number): number {
  const sign = bytes.readUInt16BE(signOffset)
  const weight = bytes.readInt16BE(weightOffset)
  const isFinite = nonFiniteTexts[sign] === undefined
  if (!isFinite || weight > maxWeight) return Number.NaN
  const fractionGroups = Math.ceil(scale / digitsPerGroup)
  let digits = 0
  for (let power = Math.max(weight, 0); power >= -fractionGroups; power--)
    digits = digits * 10_000 + numericGroup(bytes, power)
  // The last group can have digits after the scale.
  const digitsAfterScale = fractionGroups * digitsPerGroup - scale
  const unscaled = digits / 10 ** digitsAfterScale
  return sign === negativeSign ? -unscaled : unscaled
}

/** Decodes a UTF-8 text that may end in the middle of a character. Leaves out the incomplete character. */
export function decodeWholeCharacters(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}
