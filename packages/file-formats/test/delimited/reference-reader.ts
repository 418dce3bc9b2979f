import type { ColumnType } from '../../src/delimited/dialect/column-type.ts'
import { fitsDeclaredType } from './reference-declared-types.ts'
import {
  countLines,
  isBlank,
  type SlowField,
  type ReferenceGrammar,
  type ReferenceRecord,
  splitRecords,
} from './reference-records.ts'
import { referenceType } from './reference-type-detection.ts'

export type Cell = string | null

/**
 * The same dialect read the expected and obvious way, to hold the fast reader against: one string of one character per
 * byte, regular expressions for the grammar and for the types, everything in memory.
 */
export interface ReferenceResult {
  /** Byte and line at which the rows begin, and the labels of the columns. */
  from: number
  line: number
  labels: string[]
  types: string[]
  rows: Cell[][]
  rejected: { line: number; raw: string; reason: RegExp }[]
}

export interface SlowDialect extends ReferenceGrammar {
  headerRow: boolean
  recordBytes: number
  nulls?: readonly string[]
  /** The declared types. */
  given?: readonly (ColumnType | undefined)[]
  decimal?: '.' | ','
  /** Empty fields after the last column of every row, and of the header. */
  trailing?: number
}

export function readByReference(
  content: Uint8Array,
  { headerRow, recordBytes, nulls = [], given = [], decimal = '.', trailing = 0, ...grammar }: SlowDialect,
): ReferenceResult | { problem: string } {
  const text = Buffer.from(content).toString('latin1')
  const records = splitRecords(text, 0, 1, grammar, recordBytes)
  const first = records.findIndex((record) => !isBlank(record))
  if (first < 0) return { problem: 'EMPTY_FILE' }
  const measure = headerRow ? records[first]! : records.find((record) => !isBlank(record) && !whyBad(record))
  if (!measure) return { problem: 'NO_READABLE_ROW' }
  if (whyBad(measure)) return { problem: 'HEADER_NOT_READABLE' }
  const width = Math.max(1, measure.fields.length - trailing)
  const data = records.slice(headerRow ? first + 1 : 0).filter((record) => width + trailing === 1 || !isBlank(record))
  const ragged = new RegExp(
    `^\\d+ values? where the ${headerRow ? 'header' : 'first row'} has ${width}: |after the last column`,
  )
  const isNull = (field: SlowField) => field.bytes === '' || nulls.includes(decode({ ...field, bytes: field.written }))
  const fits = ({ fields }: ReferenceRecord) =>
    fields.length === width + trailing && fields.slice(width).every(({ written, quoted }) => written === '' && !quoted)
  const refused = ({ fields }: ReferenceRecord) =>
    fields
      .slice(0, width)
      .some(
        (field, column) => given[column] && !isNull(field) && !fitsDeclaredType(decode(field), given[column], decimal),
      )
  const reasons = data.map(
    (record) =>
      whyBad(record) ?? (!fits(record) ? ragged : refused(record) ? /^".*" is not a valid [A-Z_0-9]+$/s : undefined),
  )
  const good = data.filter((_, index) => !reasons[index])
  const types = Array.from({ length: width }, (_, column) => {
    const values = good.map(({ fields }) => fields[column]!).filter((field) => !isNull(field))
    return given[column]?.dataType ?? referenceType(values.map(decode), decimal)
  })
  const isText = (type: string) => /^(TEXT|CHARACTER_11|VARCHAR_\d+|GEOMETRY(_POINT)?)$/.test(type)
  return {
    from: headerRow ? records[first]!.next : 0,
    line: headerRow ? records[first]!.line + countLines(text.slice(records[first]!.from, records[first]!.next)) : 1,
    labels: measure.fields.slice(0, width).map((field, index) => (headerRow ? decode(field) : `column_${index + 1}`)),
    types,
    rows: good.map(({ fields }) =>
      fields
        .slice(0, width)
        .map((field, column) =>
          isNull(field) && (field.bytes !== '' || !field.quoted || !isText(types[column]!)) ? null : decode(field),
        ),
    ),
    rejected: data.flatMap(({ line, raw }, index) => (reasons[index] ? [{ line, raw, reason: reasons[index] }] : [])),
  }
}

const decode = ({ bytes }: SlowField) => Buffer.from(bytes, 'latin1').toString('utf8')

function whyBad({ reason, raw }: ReferenceRecord): RegExp | undefined {
  if (reason) return reason
  if (raw.includes('\0')) return /NUL byte/
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(raw, 'latin1'))
    return undefined
  } catch {
    return /^a character cannot be read \(byte 0x[0-9A-F]{2} is not UTF-8\)/
  }
}
