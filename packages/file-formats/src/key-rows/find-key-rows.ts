import { columnsWithNames } from '../csv/name-columns.ts'
import { type PreviewCell, readTuples } from '../cells/read-tuples.ts'
import type { DelimitedOptions } from '../delimited/dialect/delimited-options.ts'
import { DelimitedReader } from '../delimited/delimited-reader.ts'
import { defaultDelimitedLimits } from '../delimited/limits.ts'
import { detectText, openRows } from '../delimited/open-delimited-rows.ts'
import { fieldText } from '../delimited/rejected-row.ts'
import { SampleEncoder } from '../delimited/sample-encoder.ts'
import { TextFile } from '../delimited/text-file.ts'
import { startScanner } from '../delimited/wasm-scanner.ts'

/** Values of columns that identify rows. The columns have their names in the warehouse. */
export interface RowKey {
  keys: readonly string[]
  /** The values as the warehouse prints them. */
  values: readonly string[]
}

export interface KeyRowsJob {
  file: { fd: number; name: string }
  options: DelimitedOptions
  key: RowKey
}

/** The positions of a row: the line on which it begins, and its number among the rows of the file, both from 1. */
export interface RowPosition {
  line: number
  row: number
}

/** The search ends after this many rows, or this many bytes of the file. */
export const maxKeyRows = 5
const maxSearchedBytes = 256 * 1024 * 1024
/** Numbers of up to this many characters are compared as numbers. */
const maxExactDigits = 15

/** Finds the first rows of a file that have the key. Rows that a load would reject do not count. */
export async function keyRowsJob({ file, options, key }: KeyRowsJob): Promise<RowPosition[]> {
  using text = new TextFile(file.fd, file.name)
  const { dialect } = detectText(text, options)
  const wasm = startScanner()
  const { columns } = new DelimitedReader(text, dialect, defaultDelimitedLimits, wasm)
  const names = columnsWithNames(
    columns,
    dialect.columns.map((column) => column?.name),
  ).map(({ name }) => name)
  const indexes = key.keys.map((name) => names.indexOf(name))
  if (indexes.includes(-1)) return []
  const encoder = new SampleEncoder(wasm, dialect, columns)
  const { records, reader } = openRows(text, dialect, defaultDelimitedLimits, wasm.window)
  const positions: RowPosition[] = []
  for (let row = 1; positions.length < maxKeyRows && reader.position < maxSearchedBytes && records.advance(); ) {
    if (records.fault !== undefined) continue
    const texts = indexes.map((index) => fieldText(records, index))
    const encoded = encoder.encode(records)
    const isRejected = encoded === 'RAGGED' || (encoded !== 'TYPES_TOO_NARROW' && 'rejectingColumn' in encoded)
    if (isRejected) continue
    // A record that needs wider types cannot be decoded, so only its texts are compared.
    const cells = encoded === 'TYPES_TOO_NARROW' ? undefined : readTuples(encoded.tuple, columns, 1, Infinity).rows[0]!
    const hasKey = key.values.every((value, keyColumn) => {
      if (texts[keyColumn] === value) return true
      return cells !== undefined && isSameValue(cells[indexes[keyColumn]!]!, value)
    })
    if (hasKey) positions.push({ line: records.line, row })
    row += 1
  }
  return positions
}

/**
 * True if a value of the file equals `value`, which the warehouse has printed. The type in the warehouse may be wider.
 */
export function isSameValue(cell: PreviewCell, value: string): boolean {
  if (cell === null) return false
  const text = typeof cell === 'string' ? cell : JSON.stringify(cell)
  if (text === value) return true
  if (isExactNumber(text) && isExactNumber(value)) return Number(text) === Number(value)
  const timestamp = formatAsTimestamp(text)
  return timestamp !== undefined && timestamp === formatAsTimestamp(value)
}

const isExactNumber = (text: string): boolean => text.length <= maxExactDigits && /^-?\d+(\.\d+)?$/.test(text)

/** Returns a date or time as `2024-05-01 12:30:45.000000000`. Returns undefined for any other text. */
function formatAsTimestamp(text: string): string | undefined {
  const parts = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:\+00(?::?00)?)?)?$/.exec(text)
  if (!parts) return undefined
  const [, day, time = '00:00:00', fraction = ''] = parts
  return `${day} ${time}.${fraction.padEnd(9, '0')}`
}
