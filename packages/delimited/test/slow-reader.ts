import type { ColumnType } from '../src/column-type.ts'
import { fitsGiven } from './slow-given.ts'
import { slowType } from './slow-types.ts'

export type Cell = string | null

/**
 * The same dialect read the slow and obvious way, to hold the fast reader against: one string of one character per byte,
 * regular expressions for the grammar and for the types, everything in memory.
 */
export interface SlowResult {
  /** Byte and line at which the rows begin, and the labels of the columns. */
  from: number
  line: number
  labels: string[]
  types: string[]
  rows: Cell[][]
  rejected: { line: number; raw: string; reason: RegExp }[]
}

interface Field {
  /** The value, and how it is written between its quotes. */
  bytes: string
  written: string
  quoted: boolean
}

interface SlowRecord {
  line: number
  from: number
  next: number
  raw: string
  fields: Field[]
  reason: RegExp | undefined
}

export interface SlowDialect {
  delimiter: string
  headerRow: boolean
  recordBytes: number
  nulls?: readonly string[]
  /** Types that are no guess. */
  given?: readonly (ColumnType | undefined)[]
  decimal?: '.' | ','
}

export function readSlowly(
  content: Uint8Array,
  { delimiter, headerRow, recordBytes, nulls = [], given = [], decimal = '.' }: SlowDialect,
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
  const isNull = (field: Field) => field.bytes === '' || nulls.includes(decode({ ...field, bytes: field.written }))
  const refused = ({ fields }: SlowRecord) =>
    fields.some((field, column) => given[column] && !isNull(field) && !fitsGiven(decode(field), given[column], decimal))
  const reasons = data.map(
    (record) =>
      whyBad(record) ??
      (record.fields.length !== width ? ragged : refused(record) ? /^".*" is no [A-Z_0-9]+$/s : undefined),
  )
  const good = data.filter((_, index) => !reasons[index])
  const types = Array.from({ length: width }, (_, column) => {
    const values = good.map(({ fields }) => fields[column]!).filter((field) => !isNull(field))
    return given[column]?.dataType ?? slowType(values.map(decode), decimal)
  })
  const isText = (type: string) => /^(TEXT|VARCHAR_\d+)$/.test(type)
  return {
    from: headerRow ? records[first]!.next : 0,
    line: headerRow ? records[first]!.line + countLines(text.slice(records[first]!.from, records[first]!.next)) : 1,
    labels: measure.fields.map((field, index) => (headerRow ? decode(field) : `column_${index + 1}`)),
    types,
    rows: good.map(({ fields }) =>
      fields.map((field, column) =>
        isNull(field) && (field.bytes !== '' || !field.quoted || !isText(types[column]!)) ? null : decode(field),
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
    records.push({ line, from, next, fields, reason, raw: whole.replace(/[\r\n]+$/, '') })
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
      const written = quoted.slice(1, -1)
      fields.push({ bytes: written.replaceAll('""', '"'), written, quoted: true })
      if (match(`$|\\r|\\n|[${delimiter}]`, at) === undefined) return giveUp(/text after a closing quote/, start)
    } else {
      const plain = match(`[^${delimiter}\\r\\n]*`, at)!
      at += plain.length
      fields.push({ bytes: plain, written: plain, quoted: false })
    }
    if (cut && at === limit) return giveUp(/^longer than/, limit - 1)
    if (view[at] === delimiter) continue
    if (cut && view[at] === '\r' && at + 1 === limit) return giveUp(/^longer than/, at)
    return { fields, reason: undefined, next: at + match('\\r\\n|\\r|\\n|$', at)!.length }
  }
}
