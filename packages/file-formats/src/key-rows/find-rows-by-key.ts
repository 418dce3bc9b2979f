import type { Column } from '@sluice/row-stream'
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

/** The key of the rows to find. */
export interface RowKey {
  /** The columns of the key: their names in the warehouse, or their labels. */
  keys: readonly string[]
  /** The values as the warehouse prints them. If absent, rows without a value in one of the columns are found. */
  values?: readonly string[]
}

export interface KeyRowsJob {
  file: { fd: number; name: string }
  options: DelimitedOptions
  key: RowKey
  /** The maximum number of rows to find. */
  maxRows: number
}

/** The positions of a row: the line on which it begins, and its number among the rows of the file, both from 1. */
export interface RowPosition {
  line: number
  row: number
}

/** The search ends after this many bytes of the file. */
const maxSearchedBytes = 256 * 1024 * 1024
/** Numbers of up to this many characters are compared as numbers. */
const maxExactDigits = 15

/**
 * Finds the first rows of a file that have the key, at most `maxRows`. Rows that a load would reject do not count.
 * Returns an empty list if a column of the key is missing.
 */
export async function keyRowsJob({ file, options, key, maxRows }: KeyRowsJob): Promise<RowPosition[]> {
  using text = new TextFile(file.fd, file.name)
  const { dialect } = detectText(text, options)
  const wasm = startScanner()
  const { columns } = new DelimitedReader(text, dialect, defaultDelimitedLimits, wasm)
  const namesFromOptions = dialect.columns.map((column) => column?.name)
  const keyIndexes = findKeyIndexes(columnsWithNames(columns, namesFromOptions), key)
  if (keyIndexes.includes(-1)) return []
  const encoder = new SampleEncoder(wasm, dialect, columns)
  const { records, reader } = openRows(text, dialect, defaultDelimitedLimits, wasm.window)
  const positions: RowPosition[] = []
  let row = 0
  while (positions.length < maxRows && reader.position < maxSearchedBytes && records.advance()) {
    if (records.fault !== undefined) continue
    const texts = keyIndexes.map((index) => fieldText(records, index))
    const encoded = encoder.encode(records)
    const isTypeTooNarrow = encoded === 'TYPES_TOO_NARROW'
    const isRejected = encoded === 'RAGGED' || (!isTypeTooNarrow && 'rejectingColumn' in encoded)
    if (isRejected) continue
    row++
    // A record that needs wider types cannot be decoded, so only its texts are compared.
    const cells = isTypeTooNarrow ? undefined : readTuples(encoded.tuple, columns, 1, Infinity).rows[0]!
    const keyCells = keyIndexes.map((index) => cells?.[index])
    if (hasKey(keyCells, texts, key)) positions.push({ line: records.line, row })
  }
  return positions
}

/**
 * Returns the positions of the key's columns, which are found by their names or, failing that, by their labels. A
 * missing column has the position -1.
 */
export const findKeyIndexes = (columns: readonly Pick<Column, 'name' | 'label'>[], { keys }: RowKey): number[] =>
  keys.map((key) => {
    const index = columns.findIndex(({ name }) => name === key)
    return index === -1 ? columns.findIndex(({ label }) => label === key) : index
  })

/**
 * True if a row has the values of the key, or if it has no value in one of the key's columns and the key has no values.
 * `cells` are the row's values in the columns of the key, and `texts` are the same values as the file prints them. A
 * cell is undefined if its value could not be read.
 */
export function hasKey(
  cells: readonly (PreviewCell | undefined)[],
  texts: readonly (string | undefined)[],
  { values }: RowKey,
): boolean {
  if (!values) {
    const isMissing = (cell: PreviewCell | undefined, text: string | undefined) =>
      cell === undefined ? text === '' : cell === null
    return cells.some((cell, position) => isMissing(cell, texts[position]))
  }
  return values.every((value, position) => {
    const cell = cells[position]
    return texts[position] === value || (cell !== undefined && isSameValue(cell, value))
  })
}

/**
 * True if a value of the file equals `value`, which the warehouse has printed. The type in the warehouse may be wider.
 */
function isSameValue(cell: PreviewCell, value: string): boolean {
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
