import { type ColumnVector, unscaledInteger, integerOfHalves } from './column-vectors.ts'

const millisecondsOfDay = 86_400_000

/** Formats the value of a row as PostgreSQL prints it. The value must not be null. */
export function vectorText(vector: ColumnVector, row: number): string {
  switch (vector.kind) {
    case 'boolean':
      return vector.bits[row] ? 'true' : 'false'
    case 'integer':
      return String(integerOfHalves(vector.low[row]!, vector.high[row]!))
    case 'decimal':
      return decimalText(unscaledInteger(vector, row), vector.scale)
    case 'float':
      return floatText(vector.values[row]!, 'FLOAT')
    case 'double':
      return floatText(vector.values[row]!, 'DOUBLE')
    case 'date':
      return dateText(vector.days[row]!)
    case 'timestamp':
      return timestampText(integerOfHalves(vector.low[row]!, vector.high[row]!))
    case 'timestamptz':
      return timestampText(integerOfHalves(vector.low[row]!, vector.high[row]!), '+00')
    case 'text':
    case 'json': {
      const { data, starts, lengths } = vector
      const from = starts[row]!
      return Buffer.from(data.buffer, data.byteOffset + from, lengths[row]!).toString('utf8')
    }
  }
}

/** Formats a decimal with exactly `scale` digits after the point. */
export function decimalText(unscaled: number | bigint, scale: number): string {
  const digits = String(unscaled)
  if (scale === 0) return digits
  const isNegative = digits.startsWith('-')
  const padded = (isNegative ? digits.slice(1) : digits).padStart(scale + 1, '0')
  return `${isNegative ? '-' : ''}${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}

/**
 * Formats a float as PostgreSQL prints it: with an exponent below 0.0001, and from 10^6 (FLOAT) or 10^15 (DOUBLE) on.
 */
export function floatText(value: number, dataType: 'FLOAT' | 'DOUBLE'): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (value === 0) return Object.is(value, -0) ? '-0' : '0'
  const exponentLimit = dataType === 'FLOAT' ? 6 : 15
  const scientificText = dataType === 'FLOAT' ? shortestSingle(value) : value.toExponential()
  const [mantissa = '', power = ''] = scientificText.split('e')
  const exponent = Number(power)
  const usesExponent = exponent < -4 || exponent >= exponentLimit
  if (usesExponent) {
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  const sign = mantissa.startsWith('-') ? '-' : ''
  const digits = mantissa.replace('-', '').replace('.', '')
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const wholeDigits = exponent + 1
  if (digits.length <= wholeDigits) return sign + digits.padEnd(wholeDigits, '0')
  return `${sign}${digits.slice(0, wholeDigits)}.${digits.slice(wholeDigits)}`
}

/**
 * Returns the shortest text in scientific notation, such as `1.5e+3`, that parses to the same single-precision float.
 */
function shortestSingle(value: number): string {
  for (let digits = 0; digits < 9; digits++) {
    const text = value.toExponential(digits)
    if (Math.fround(Number(text)) === value) return text.replace(/\.?0*e/, 'e')
  }
  return value.toExponential()
}

/** Formats days since 1970-01-01: `2026-01-31`, `0044-03-15 BC`, `10000-01-01`. */
export function dateText(days: number): string {
  const { text, era } = formatCalendarDay(days)
  return text + era
}

/** Formats microseconds since 1970-01-01: `2026-01-31 12:30:00.25`, with `zone` after the time. */
export function timestampText(microseconds: number | bigint, zone = ''): string {
  const total = BigInt(microseconds)
  const microsecondsPerDay = BigInt(millisecondsOfDay) * 1000n
  // The remainder of a negative number is negative, so a day is added before the second division.
  const sinceMidnight = ((total % microsecondsPerDay) + microsecondsPerDay) % microsecondsPerDay
  const { text, era } = formatCalendarDay(Number((total - sinceMidnight) / microsecondsPerDay))
  return `${text} ${timeText(Number(sinceMidnight) * 1000)}${zone}${era}`
}

/** Formats nanoseconds since midnight as a time of day, without trailing zeros in its fraction. */
export function timeText(nanoseconds: number): string {
  const seconds = Math.floor(nanoseconds / 1e9)
  const twoDigits = (value: number) => String(value).padStart(2, '0')
  const fraction = String(nanoseconds - seconds * 1e9)
    .padStart(9, '0')
    .replace(/0+$/, '')
  const clock = `${twoDigits(Math.floor(seconds / 3600))}:${twoDigits(Math.floor(seconds / 60) % 60)}:${twoDigits(seconds % 60)}`
  return fraction ? `${clock}.${fraction}` : clock
}

/**
 * Formats days since 1970-01-01 in the proleptic Gregorian calendar, as PostgreSQL does. JavaScript's dates would end
 * in the year 275760.
 */
function formatCalendarDay(days: number): { text: string; era: string } {
  // Subtracts whole cycles of 400 years, so that the rest is within the range of a JavaScript date.
  const cycles = Math.floor(days / 146_097)
  const date = new Date((days - cycles * 146_097) * millisecondsOfDay)
  const year = date.getUTCFullYear() + cycles * 400
  const yearText = String(year > 0 ? year : 1 - year).padStart(4, '0')
  const monthAndDay = date.toISOString().slice(4, 10)
  return { text: yearText + monthAndDay, era: year > 0 ? '' : ' BC' }
}
