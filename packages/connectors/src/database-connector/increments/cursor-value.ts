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
  /^(?<year>\d{4,6})-(?<month>\d\d)-(?<day>\d\d)(?:[T ](?<hour>\d\d):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d{1,9})\d*)?)?)?\s*(?<zone>Z|[+-]\d\d(?::?\d\d)?)?$/

/**
 * Parses a value that a database printed. Returns digits for a number, `2026-01-31` for a date, and `2026-01-31
 * 12:30:00.250000000` for a timestamp, so that texts of dates and timestamps sort by time. A timestamp with a time zone
 * is converted to UTC. Returns `FUTURE` for infinity and for years above 9999. Returns undefined for a value that
 * cannot be a cursor, such as NaN, minus infinity, or a date before the year 1.
 */
export function parseCursorValue(kind: CursorKind, text: string): string | undefined {
  const value = text.trim()
  if (kind === 'NUMBER') return parseNumber(value)
  if (value === 'infinity') return 'FUTURE'
  const groups = momentPattern.exec(value)?.groups
  if (!groups) return undefined
  const { year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone } = groups
  if (year!.length > 4) return 'FUTURE'
  const seconds = toUnixSeconds(`${year}-${month}-${day}`, `${hour}:${minute}:${second}`)
  if (seconds === undefined) return undefined
  const offset = kind === 'TIMESTAMPTZ' ? parseOffset(zone) : 0
  return formatMoment(kind, seconds - offset, fraction)
}

/**
 * Returns the value minus `lookback`. For dates and timestamps, `lookback` is in seconds. For dates, it is rounded up
 * to whole days. Returns undefined if the result would be before the year 1, so that all rows are read.
 */
export function subtractLookback(kind: CursorKind, value: string, lookback: number): string | undefined {
  if (lookback === 0) return value
  if (kind === 'NUMBER') return subtractInteger(value, BigInt(lookback))
  const [date, time = '00:00:00'] = value.split(' ')
  const [wholeSeconds, fraction] = time.split('.')
  const seconds = toUnixSeconds(date!, wholeSeconds!)!
  const lookbackSeconds = kind === 'DATE' ? Math.ceil(lookback / secondsPerDay) * secondsPerDay : lookback
  return formatMoment(kind, seconds - lookbackSeconds, fraction)
}

/** Compares two values. Returns a negative number, 0 or a positive number, as `Array.prototype.sort` expects. */
export function compareCursorValues(kind: CursorKind, firstValue: string, secondValue: string): number {
  const [first, second] = kind === 'NUMBER' ? alignNumbers(firstValue, secondValue) : [firstValue, secondValue]
  if (first === second) return 0
  return first < second ? -1 : 1
}

/**
 * Returns the current time as a cursor value of this kind. Returns undefined for numbers, which have no relation to
 * time.
 */
export function readCursorClock(kind: CursorKind, clock: SourceClock): string | undefined {
  if (kind === 'NUMBER') return undefined
  return parseCursorValue(kind, kind === 'TIMESTAMPTZ' ? clock.utc : clock.local)
}

/** Returns a decimal number without unneeded zeros: `1.5` for `+01.50`. Returns undefined for another text. */
function parseNumber(text: string): string | undefined {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?$/.exec(text)
  if (!match || !/\d/.test(text)) return undefined
  const [, sign, digits = '', fraction = ''] = match
  const wholeDigits = digits.replace(/^0+(?=\d)/, '') || '0'
  const decimals = fraction.replace(/0+$/, '')
  const number = decimals ? `${wholeDigits}.${decimals}` : wholeDigits
  return sign === '-' && number !== '0' ? `-${number}` : number
}

/** Subtracts an integer from a decimal number of any size. */
function subtractInteger(value: string, subtrahend: bigint): string {
  const decimals = countDecimals(value)
  const result = BigInt(value.replace('.', '')) - subtrahend * 10n ** BigInt(decimals)
  const isNegative = result < 0n
  const digits = String(isNegative ? -result : result).padStart(decimals + 1, '0')
  const text = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
  return parseNumber(isNegative ? `-${text}` : text)!
}

/**
 * Returns two numbers as integers of a common unit, so that they can be compared exactly: 150 and 20 for 1.5 and 0.20.
 */
function alignNumbers(first: string, second: string): [bigint, bigint] {
  const decimals = Math.max(countDecimals(first), countDecimals(second))
  const toUnits = (value: string): bigint => {
    const [wholeDigits, fraction = ''] = value.split('.')
    return BigInt(wholeDigits + fraction.padEnd(decimals, '0'))
  }
  return [toUnits(first), toUnits(second)]
}

const countDecimals = (value: string): number => value.split('.')[1]?.length ?? 0

const secondsPerDay = 86_400

/** Returns the Unix seconds of `12:30:00` on a day in UTC, or undefined for a date that does not exist. */
function toUnixSeconds(date: string, timeOfDay: string): number | undefined {
  const midnight = new Date(`${date}T00:00:00Z`)
  if (Number.isNaN(midnight.getTime())) return undefined
  // JavaScript accepts some dates that do not exist and changes them to a date in the next month.
  const isChanged = midnight.toISOString().slice(0, 10) !== date
  if (isChanged) return undefined
  const [hours, minutes, seconds] = timeOfDay.split(':').map(Number)
  return midnight.getTime() / 1_000 + hours! * 3600 + minutes! * 60 + seconds!
}

/** Returns the seconds by which a time zone such as `Z`, `+02` or `-03:30` is ahead of UTC. */
function parseOffset(zone = 'Z'): number {
  if (zone === 'Z') return 0
  const digits = zone.slice(1).replace(':', '').padEnd(4, '0')
  const seconds = Number(digits.slice(0, 2)) * 3600 + Number(digits.slice(2)) * 60
  return zone.startsWith('-') ? -seconds : seconds
}

/**
 * Formats Unix seconds as a cursor value. `fraction` contains the digits of the fractional second. Returns `FUTURE` for
 * years above 9999, and undefined for years before 1.
 */
function formatMoment(kind: CursorKind, seconds: number, fraction = ''): string | undefined {
  const moment = new Date(seconds * 1_000)
  if (moment.getUTCFullYear() < 1) return undefined
  if (moment.getUTCFullYear() > 9_999) return 'FUTURE'
  const text = moment.toISOString()
  const date = text.slice(0, 10)
  if (kind === 'DATE') return date
  const timeOfDay = text.slice(11, 19)
  return `${date} ${timeOfDay}.${fraction.padEnd(9, '0')}`
}
