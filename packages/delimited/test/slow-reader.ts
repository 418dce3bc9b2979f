import type { Cell } from './read-whole.ts'

/**
 * The same dialect read the slow and obvious way, to hold the fast reader against: one string of one character per byte,
 * regular expressions for the grammar and for the types, everything in memory.
 */
export interface SlowResult {
  types: string[]
  rows: Cell[][]
  rejected: { line: number; raw: string; reason: RegExp }[]
}

interface Field {
  bytes: string
  quoted: boolean
}

interface SlowRecord {
  line: number
  raw: string
  fields: Field[]
  reason: RegExp | undefined
}

export function readSlowly(
  content: Uint8Array,
  { delimiter, headerRow, recordBytes }: { delimiter: string; headerRow: boolean; recordBytes: number },
): SlowResult | { problem: string } {
  const text = Buffer.from(content).toString('latin1')
  const records = splitRecords(text, delimiter, recordBytes)
  const isBlank = ({ fields, reason }: SlowRecord) =>
    !reason && fields.length === 1 && fields[0]!.bytes === '' && !fields[0]!.quoted
  const first = records.findIndex((record) => !isBlank(record))
  if (first < 0) return { problem: 'EMPTY_FILE' }
  const measure = headerRow ? records[first]! : records.find((record) => !isBlank(record) && !whyBad(record))
  if (!measure) return { problem: 'NO_READABLE_ROW' }
  if (whyBad(measure)) return { problem: 'HEADER_NOT_READABLE' }
  const width = measure.fields.length
  const data = records.slice(headerRow ? first + 1 : 0).filter((record) => width === 1 || !isBlank(record))
  const ragged = new RegExp(`^\\d+ fields? where the ${headerRow ? 'header' : 'first row'} has ${width}$`)
  const reasons = data.map((record) => whyBad(record) ?? (record.fields.length === width ? undefined : ragged))
  const good = data.filter((_, index) => !reasons[index])
  const types = Array.from({ length: width }, (_, column) =>
    slowType(good.map(({ fields }) => decode(fields[column]!)).filter((value) => value !== '')),
  )
  return {
    types,
    rows: good.map(({ fields }) =>
      fields.map((field, column) =>
        field.bytes === '' && (!field.quoted || types[column] !== 'TEXT') ? null : decode(field),
      ),
    ),
    rejected: data.flatMap(({ line, raw }, index) => (reasons[index] ? [{ line, raw, reason: reasons[index] }] : [])),
  }
}

const decode = ({ bytes }: Field) => Buffer.from(bytes, 'latin1').toString('utf8')

function whyBad({ reason, raw }: SlowRecord): RegExp | undefined {
  if (reason) return reason
  if (raw.includes('\0')) return /NUL byte/
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(raw, 'latin1'))
    return undefined
  } catch {
    return /^not valid UTF-8 \(byte 0x[0-9A-F]{2}\)/
  }
}

const countLines = (text: string) => text.match(/\r\n|\r|\n/g)?.length ?? 0

function splitRecords(text: string, delimiter: string, recordBytes: number): SlowRecord[] {
  const records: SlowRecord[] = []
  let line = 1
  for (let from = 0; from < text.length; ) {
    const { fields, reason, next } = oneRecord(text, from, delimiter, recordBytes)
    const whole = text.slice(from, next)
    records.push({ line, fields, reason, raw: whole.replace(/[\r\n]+$/, '') })
    line += countLines(whole)
    from = next
  }
  return records
}

function oneRecord(text: string, from: number, delimiter: string, recordBytes: number) {
  const limit = from + recordBytes
  const cut = limit < text.length
  const view = cut ? text.slice(0, limit) : text
  const fields: Field[] = []
  const match = (pattern: string, at: number) => {
    const sticky = new RegExp(pattern, 'y')
    sticky.lastIndex = at
    return sticky.exec(view)?.[0]
  }
  const giveUp = (reason: RegExp, position: number) => {
    const end = /\r\n|\r|\n/g
    end.lastIndex = position
    return { fields, reason, next: end.exec(text) ? end.lastIndex : text.length }
  }
  for (let at = from; ; at += delimiter.length) {
    const start = at
    if (view[at] === '"') {
      const quoted = match('"(?:[^"]|"")*"(?!")', at)
      if (quoted === undefined || (cut && at + quoted.length === limit)) {
        return giveUp(cut ? /is not closed within/ : /is never closed/, start)
      }
      at += quoted.length
      fields.push({ bytes: quoted.slice(1, -1).replaceAll('""', '"'), quoted: true })
      if (match(`$|\\r|\\n|[${delimiter}]`, at) === undefined) return giveUp(/text after a closing quote/, start)
    } else {
      const plain = match(`[^${delimiter}\\r\\n]*`, at)!
      at += plain.length
      fields.push({ bytes: plain, quoted: false })
    }
    if (cut && at === limit) return giveUp(/^longer than/, limit - 1)
    if (view[at] === delimiter) continue
    if (cut && view[at] === '\r' && at + 1 === limit) return giveUp(/^longer than/, at)
    return { fields, reason: undefined, next: at + match('\\r\\n|\\r|\\n|$', at)!.length }
  }
}

function slowType(values: string[]): string {
  const all = (test: (value: string) => boolean) => values.every(test)
  const is = (pattern: RegExp) => all((value) => pattern.test(value))
  if (values.length === 0) return 'TEXT'
  if (is(/^(true|false)$/i)) return 'BOOLEAN'
  if (all((value) => isDay(value) && value.length === 10)) return 'DATE'
  const time = /^.{10}([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?)$/
  if (all((value) => isDay(value) && (value.length === 10 || time.test(value)))) return 'TIMESTAMP'
  const zone = /^.{10}[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-](0\d|1[0-5])(:?[0-5]\d)?)$/
  if (all((value) => isDay(value) && zone.test(value))) return 'TIMESTAMPTZ'
  return slowNumberType(values)
}

function isDay(value: string): boolean {
  if (!/^\d{4}-\d\d-\d\d/.test(value) || value.startsWith('0000')) return false
  const date = new Date(`${value.slice(0, 10)}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === value.slice(0, 10)
}

const plain = /^-?(?:(0|[1-9]\d*)(?:\.(\d+))?|\.(\d+))$/
const exponent = /^-?(?:(?:0|[1-9]\d*)(?:\.\d+)?|\.\d+)e[-+]?\d+$/i

function slowNumberType(values: string[]): string {
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
    } else if (exponent.test(value)) {
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
