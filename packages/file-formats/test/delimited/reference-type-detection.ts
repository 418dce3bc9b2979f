/** Returns the narrowest type that keeps every value, according to the description in README.md. */
export function referenceType(values: string[], decimal: '.' | ','): string {
  const all = (test: (value: string) => boolean) => values.every(test)
  const is = (pattern: RegExp) => all((value) => pattern.test(value))
  if (values.length === 0) return 'TEXT'
  if (is(/^(true|false)$/i)) return 'BOOLEAN'
  const formats = Object.keys(days).filter((format) => all((value) => timeOf(value, format) !== undefined))
  if (formats.length > 1) return 'TEXT'
  if (formats.length === 1) {
    const kinds = new Set(values.map((value) => timeOf(value, formats[0]!)))
    if (kinds.size === 1) return [...kinds][0]!
    return kinds.has('TIMESTAMPTZ') ? 'TEXT' : 'TIMESTAMP'
  }
  if (decimal === ',' && !all((value) => !value.includes('.'))) return 'TEXT'
  return referenceNumberType(decimal === ',' ? values.map((value) => value.replace(',', '.')) : values)
}

/** The date formats, with named groups for year, month and day. */
const days: Record<string, RegExp> = {
  'YYYY-MM-DD': /^(?<y>\d{4})-(?<m>\d\d)-(?<d>\d\d)/,
  'YYYY/MM/DD': /^(?<y>\d{4})\/(?<m>\d\d)\/(?<d>\d\d)/,
  'DD.MM.YYYY': /^(?<d>\d\d)\.(?<m>\d\d)\.(?<y>\d{4})/,
  'DD/MM/YYYY': /^(?<d>\d\d)\/(?<m>\d\d)\/(?<y>\d{4})/,
  'MM/DD/YYYY': /^(?<m>\d\d)\/(?<d>\d\d)\/(?<y>\d{4})/,
  'DD-MM-YYYY': /^(?<d>\d\d)-(?<m>\d\d)-(?<y>\d{4})/,
  'MM-DD-YYYY': /^(?<m>\d\d)-(?<d>\d\d)-(?<y>\d{4})/,
}
const time = /^[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(?<zone>Z|[+-](0\d|1[0-5])(:?[0-5]\d)?)?$/

/** Returns the kind of a value if its date has this format, otherwise undefined. */
export function timeOf(value: string, format: string): 'DATE' | 'TIMESTAMP' | 'TIMESTAMPTZ' | undefined {
  const pattern = format === 'YYYYMMDD' ? /^(?<y>\d{4})(?<m>\d\d)(?<d>\d\d)/ : days[format]!
  const day = pattern.exec(value)
  if (!day || !isDay(`${day.groups!['y']}-${day.groups!['m']}-${day.groups!['d']}`)) return undefined
  if (day[0].length === value.length) return 'DATE'
  const rest = time.exec(value.slice(day[0].length))
  if (!rest) return undefined
  return rest.groups!['zone'] === undefined ? 'TIMESTAMP' : 'TIMESTAMPTZ'
}

function isDay(day: string): boolean {
  if (day.startsWith('0000')) return false
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === day
}

const plain = /^-?(?:(0|[1-9]\d*)(?:\.(\d+))?|\.(\d+))$/
const exponent = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)e[-+]?\d+$/i

function referenceNumberType(values: string[]): string {
  const exact: { digits: number; scale: number; integer: bigint | undefined }[] = []
  let double = false
  for (const value of values) {
    if (value.length > 128) return 'TEXT'
    const parts = plain.exec(value)
    if (value === '-0') double = true
    else if (parts) {
      const scale = (parts[2] ?? parts[3] ?? '').length
      const digits = parts[1] === undefined || parts[1] === '0' ? 0 : parts[1].length
      exact.push({ digits, scale, integer: scale === 0 ? BigInt(value) : undefined })
      if (scale > 0 && digits + scale > 38) double = true
    } else if (exponent.test(value) && !/^-?\d+e\d/i.test(value)) {
      const number = Number(value)
      if (!Number.isFinite(number) || (number === 0 && /[1-9]/.test(value.split(/e/i)[0]!))) return 'TEXT'
      double = true
    } else return 'TEXT'
  }
  const digits = Math.max(0, ...exact.map((number) => number.digits))
  const scale = Math.max(0, ...exact.map((number) => number.scale))
  const integers = exact.map((number) => number.integer)
  if (!double && integers.every((integer) => integer !== undefined)) {
    for (const [type, bits] of [
      ['SMALLINT', 16],
      ['INTEGER', 32],
      ['BIGINT', 64],
    ] as const) {
      if (integers.every((integer) => BigInt.asIntN(bits, integer) === integer)) return type
    }
    return digits <= 38 ? `DECIMAL(${digits},0)` : 'TEXT'
  }
  if (!double && digits + scale <= 38) return `DECIMAL(${Math.min(38, Math.max(1, digits) + scale)},${scale})`
  return digits <= 15 ? 'DOUBLE' : 'TEXT'
}
