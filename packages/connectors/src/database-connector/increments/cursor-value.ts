import type { DataType } from '@sluice/contracts'

/** The kinds of values that can be compared exactly, so that a read can continue from one of them. */
export type CursorKind = 'NUMBER' | 'DATE' | 'TIMESTAMP' | 'TIMESTAMPTZ'

/** The current time of a database, in UTC and in the server's time zone, as `2026-01-31 12:30:00.25`. */
export interface SourceClock {
  utc: string
  local: string
}

const kindsByType: Partial<Record<DataType, CursorKind>> = {
  SMALLINT: 'NUMBER',
  INTEGER: 'NUMBER',
  BIGINT: 'NUMBER',
  DECIMAL: 'NUMBER',
  DATE: 'DATE',
  TIMESTAMP: 'TIMESTAMP',
  TIMESTAMPTZ: 'TIMESTAMPTZ',
}

/** Returns the cursor kind of a data type, or undefined if values of this type cannot be compared exactly. */
export const findCursorKind = (dataType: DataType): CursorKind | undefined => kindsByType[dataType]

const momentPattern =
  /^(\d{4,6})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9})\d*)?)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?$/

/**
 * Parses a value that a database printed. Returns digits for a number, `2026-01-31` for a date, and `2026-01-31
 * 12:30:00.250000000` for a timestamp (in UTC if its type has a time zone), so that these texts sort by time. `FUTURE`
 * is later than every clock. Returns undefined for a value that cannot be a cursor, such as NaN, minus infinity, or a
 * date before the year 1.
 */
export function parseCursorValue(kind: CursorKind, text: string): string | undefined {
  const value = text.trim()
  if (kind === 'NUMBER') return parseNumber(value)
  if (value === 'infinity') return 'FUTURE'
  const parts = momentPattern.exec(value)
  if (!parts) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone] = parts
  if (year!.length > 4) return 'FUTURE'
  const offset = kind === 'TIMESTAMPTZ' ? parseOffset(zone) : 0
  const seconds = toSeconds(`${year}-${month}-${day}`, Number(hour) * 3600 + Number(minute) * 60 + Number(second))
  return seconds === undefined ? undefined : formatMoment(kind, seconds - offset, fraction)
}

/**
 * Returns the value minus `lookback`, which is in seconds for dates and times; a date is reduced by whole days. Returns
 * undefined if the result would be before the year 1, so that all rows are read.
 */
export function subtractLookback(kind: CursorKind, value: string, lookback: number): string | undefined {
  if (lookback === 0) return value
  if (kind === 'NUMBER') return subtractInteger(value, BigInt(lookback))
  const [date, time = '00:00:00.000000000'] = value.split(' ')
  const [hour, minute, second] = time.split(/[:.]/).map(Number)
  const seconds = toSeconds(date!, hour! * 3600 + minute! * 60 + second!)!
  const lookbackSeconds = kind === 'DATE' ? Math.ceil(lookback / 86_400) * 86_400 : lookback
  return formatMoment(kind, seconds - lookbackSeconds, time.split('.')[1])
}

/** Compares two values. Returns a negative number, 0 or a positive number, as `Array.prototype.sort` expects. */
export function compareCursorValues(kind: CursorKind, firstValue: string, secondValue: string): number {
  if (kind !== 'NUMBER') return firstValue < secondValue ? -1 : firstValue > secondValue ? 1 : 0
  const difference = alignNumbers(firstValue, secondValue).reduce(
    (firstNumber, secondNumber) => firstNumber - secondNumber,
  )
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/**
 * Returns the current time as a cursor value of this kind. Returns undefined for numbers, which have no relation to
 * time.
 */
export function readCursorClock(kind: CursorKind, clock: SourceClock): string | undefined {
  if (kind === 'NUMBER') return undefined
  return parseCursorValue(kind, kind === 'TIMESTAMPTZ' ? clock.utc : clock.local)
}

function parseNumber(text: string): string | undefined {
  const parts = /^([+-]?)(\d*)(?:\.(\d*))?$/.exec(text)
  if (!parts || !/\d/.test(text)) return undefined
  const [, sign, digits = '', fraction = ''] = parts
  const [wholeDigits, decimals] = [digits.replace(/^0+(?=\d)/, '') || '0', fraction.replace(/0+$/, '')]
  const number = decimals ? `${wholeDigits}.${decimals}` : wholeDigits
  return sign === '-' && number !== '0' ? `-${number}` : number
}

function subtractInteger(value: string, subtrahend: bigint): string {
  const decimals = value.split('.')[1]?.length ?? 0
  const result = BigInt(value.replace('.', '')) - subtrahend * 10n ** BigInt(decimals)
  const digits = String(result < 0n ? -result : result).padStart(decimals + 1, '0')
  const text = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
  return parseNumber(`${result < 0n ? '-' : ''}${text}`)!
}

/** Returns the numbers as integers of one common unit, so that they can be compared exactly. */
function alignNumbers(...values: readonly string[]): bigint[] {
  const decimals = Math.max(...values.map((value) => value.split('.')[1]?.length ?? 0))
  return values.map((value) => {
    const [wholeDigits, fraction = ''] = value.split('.')
    return BigInt(wholeDigits + fraction.padEnd(decimals, '0'))
  })
}

/** Returns Unix seconds, or undefined for a date that does not exist. */
function toSeconds(date: string, secondsOfDay: number): number | undefined {
  const at = new Date(`${date}T00:00:00Z`)
  if (Number.isNaN(at.getTime()) || at.toISOString().slice(0, 10) !== date) return undefined
  return at.getTime() / 1_000 + secondsOfDay
}

function parseOffset(zone = 'Z'): number {
  if (zone === 'Z') return 0
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  const seconds = Number(digits.slice(0, 2)) * 3600 + Number(digits.slice(2)) * 60
  return zone.startsWith('-') ? -seconds : seconds
}

function formatMoment(kind: CursorKind, seconds: number, fraction = ''): string | undefined {
  const text = new Date(seconds * 1_000).toISOString()
  if (text.startsWith('-') || text.startsWith('0000')) return undefined
  if (text.startsWith('+')) return 'FUTURE'
  if (kind === 'DATE') return text.slice(0, 10)
  return `${text.slice(0, 10)} ${text.slice(11, 19)}.${fraction.padEnd(9, '0')}`
}
