import { type CellText, type ExportedColumn, UnencodableValueError } from './exported-column.ts'

/** The maximum digits of a decimal in Parquet and Arrow. */
const maxDecimalDigits = 38

export interface FixedDecimal {
  precision: number
  scale: number
}

/**
 * Returns the precision and scale of a decimal column. Returns undefined if Parquet and Arrow must store it as text to
 * keep all digits.
 */
export function findFixedDecimal({ dataType, precision, scale = 0 }: ExportedColumn): FixedDecimal | undefined {
  if (dataType !== 'DECIMAL' || precision === undefined) return undefined
  const isStorable = precision <= maxDecimalDigits && scale >= 0 && scale <= precision
  return isStorable ? { precision, scale } : undefined
}

/** Converts the cells with `parse`. A null stays null. */
export const mapCells = <T>(cells: readonly CellText[], parse: (text: string) => T): (T | null)[] =>
  cells.map((cell) => (cell === null ? null : parse(cell)))

/**
 * Returns a decimal without its point: `12.5` with scale 2 is 1250n. Throws UnencodableValueError for NaN, Infinity and
 * values with more decimal places than `scale`.
 */
export function parseUnscaled(text: string, scale: number, column: string): bigint {
  const match = /^([+-]?\d*)(?:\.(\d*))?$/.exec(text)
  if (!match) throw unstorableValueError(text, column)
  const [, integerText = '', fractionText = ''] = match
  const fraction = fractionText.padEnd(scale, '0')
  if (fraction.length > scale) throw unstorableValueError(text, column)
  return BigInt(integerText + fraction)
}

/** Converts a float as PostgreSQL prints it, including `Infinity`, `-Infinity` and `NaN`. */
export const parseFloatText = (text: string): number => Number(text)

export const dayMilliseconds = 86_400_000

/**
 * Returns the days since 1970-01-01. In the text, years before 1 have the suffix `BC`, and years after 9999 have more
 * digits.
 */
export function parseDays(text: string, column: string): number {
  const match = /^(\d{4,})-(\d\d)-(\d\d)( BC)?$/.exec(text)
  if (!match) throw unstorableValueError(text, column)
  return daysSince1970(match[1]!, match[2]!, match[3]!, match[4] !== undefined)
}

const timestampPattern =
  /^(\d{4,})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:(Z)|([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?)?( BC)?$/

/**
 * Returns the microseconds since 1970-01-01T00:00:00 UTC. A text without a UTC offset is taken as UTC. Throws
 * UnencodableValueError if the text is not a timestamp or exceeds 64 bits.
 */
export function parseMicroseconds(text: string, column: string): bigint {
  const match = timestampPattern.exec(text)
  if (!match) throw unstorableValueError(text, column)
  const [, year, month, day, hour, minute, second, fraction = '', , sign, zoneHour, zoneMinute, zoneSecond, bc] = match
  const days = daysSince1970(year!, month!, day!, bc !== undefined)
  const secondOfDay = toSeconds(hour, minute, second)
  const offsetSeconds = toSeconds(zoneHour, zoneMinute, zoneSecond) * (sign === '-' ? -1 : 1)
  const seconds = days * 86_400 + secondOfDay - offsetSeconds
  const microseconds = BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6))
  const fits64Bits = BigInt.asIntN(64, microseconds) === microseconds
  if (!fits64Bits) throw unstorableValueError(text, column)
  return microseconds
}

const toSeconds = (hours = '0', minutes = '0', seconds = '0'): number =>
  Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)

/** Returns the days since 1970-01-01 in the Gregorian calendar. */
function daysSince1970(year: string, month: string, day: string, isBeforeChrist: boolean): number {
  const signedYear = isBeforeChrist ? 1 - Number(year) : Number(year)
  // JavaScript's Date covers 275,760 years in each direction. The Gregorian calendar repeats every 400 years, which
  // have 146,097 days, so other years are shifted by such cycles.
  const cycles = Math.floor(signedYear / 400)
  const date = new Date(0)
  date.setUTCFullYear(signedYear - cycles * 400, Number(month) - 1, Number(day))
  return date.getTime() / dayMilliseconds + cycles * 146_097
}

const unstorableValueError = (text: string, column: string) =>
  new UnencodableValueError(
    `Column "${column}" contains ${text.slice(0, 50)}, which this format cannot store. Export the rows as CSV, or leave the column out.`,
  )
