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
export function fixedDecimalOf({ dataType, precision, scale = 0 }: ExportedColumn): FixedDecimal | undefined {
  if (dataType !== 'DECIMAL' || precision === undefined) return undefined
  return precision <= maxDecimalDigits && scale >= 0 && scale <= precision ? { precision, scale } : undefined
}

/** Converts the cells that are not NULL. */
export const mapCells = <T>(cells: readonly CellText[], parse: (text: string) => T): (T | null)[] =>
  cells.map((cell) => (cell === null ? null : parse(cell)))

/**
 * Returns a decimal without its point: `12.50` with scale 2 is 1250n. Throws UnencodableValueError for NaN and
 * Infinity.
 */
export function parseUnscaled(text: string, scale: number, column: string): bigint {
  const match = /^([+-]?\d*)(?:\.(\d*))?$/.exec(text)
  if (!match) throw cannotHold(text, column)
  const fraction = (match[2] ?? '').padEnd(scale, '0')
  if (fraction.length > scale) throw cannotHold(text, column)
  return BigInt((match[1] ?? '') + fraction)
}

export const parseFloatText = (text: string): number =>
  text === 'Infinity' ? Number.POSITIVE_INFINITY : text === '-Infinity' ? Number.NEGATIVE_INFINITY : Number(text)

export const dayMilliseconds = 86_400_000

/**
 * Returns the days since 1970-01-01. In the text, years before 1 have the suffix `BC`, and years after 9999 have more
 * digits.
 */
export function parseDays(text: string, column: string): number {
  const match = /^(\d{4,})-(\d\d)-(\d\d)( BC)?$/.exec(text)
  if (!match) throw cannotHold(text, column)
  return daysOf(match[1]!, match[2]!, match[3]!, match[4] !== undefined)
}

/** Returns the microseconds since 1970-01-01T00:00:00 UTC. */
export function parseMicroseconds(text: string, column: string): bigint {
  const match =
    /^(\d{4,})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:(Z)|([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?)?( BC)?$/.exec(
      text,
    )
  if (!match) throw cannotHold(text, column)
  const [, year, month, day, hour, minute, second, fraction = '', , sign, zoneHour, zoneMinute, zoneSecond, bc] = match
  const zone =
    (Number(zoneHour ?? 0) * 3600 + Number(zoneMinute ?? 0) * 60 + Number(zoneSecond ?? 0)) * (sign === '-' ? -1 : 1)
  const seconds =
    daysOf(year!, month!, day!, bc !== undefined) * 86_400 +
    Number(hour) * 3600 +
    Number(minute) * 60 +
    Number(second) -
    zone
  const micros = BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6))
  if (BigInt.asIntN(64, micros) !== micros) throw cannotHold(text, column)
  return micros
}

function daysOf(year: string, month: string, day: string, isBeforeChrist: boolean): number {
  const signedYear = isBeforeChrist ? 1 - Number(year) : Number(year)
  // JavaScript's Date covers 275,760 years in each direction. The Gregorian calendar repeats every 400 years, which
  // have 146,097 days, so other years are shifted by such cycles.
  const cycles = Math.floor(signedYear / 400)
  const date = new Date(0)
  date.setUTCFullYear(signedYear - cycles * 400, Number(month) - 1, Number(day))
  return date.getTime() / dayMilliseconds + cycles * 146_097
}

const cannotHold = (text: string, column: string) =>
  new UnencodableValueError(
    `Column "${column}" contains ${text.slice(0, 50)}, which this format cannot store. Export the rows as CSV, or leave the column out.`,
  )
