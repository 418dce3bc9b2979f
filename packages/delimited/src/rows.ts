import { DelimitedProblem } from './problem.ts'
import { type Delimiter, delimiters, detectDelimiter } from './dialect.ts'
import { type Limits, maxColumns } from './limits.ts'
import { Records } from './records.ts'
import { fieldText, reason, type Shape } from './reject.ts'
import type { TextFile } from './text-file.ts'
import { type Utf8Reader, utf8Reader } from './utf8-reader.ts'

const longestLabel = 1000

/** How a file is to be read: the delimiter by name, or none to have it detected. */
export interface Dialect {
  delimiter?: Delimiter
  headerRow: boolean
}

/** A file's data records from the first one on, and what they are held against. */
export interface Rows {
  records: Records
  reader: Utf8Reader
  delimiter: Delimiter
  shape: Shape
}

/**
 * Opens a file's rows, once for each pass. Without a header row the first well-formed record says how many columns there are.
 * The window lies in `memory` where that is given. Throws DelimitedProblem EMPTY_FILE, HEADER_NOT_READABLE, NO_READABLE_ROW or TOO_MANY_COLUMNS.
 */
export function openRows(file: TextFile, dialect: Dialect, limits: Limits, memory?: Buffer): Rows {
  const { headerRow } = dialect
  const delimiter = dialect.delimiter ?? detectDelimiter(file, limits)
  const start = () => {
    const reader = utf8Reader(file)
    return { reader, records: new Records(reader, delimiters[delimiter].charCodeAt(0), limits, memory) }
  }
  const { reader, records } = start()
  if (!records.advance()) {
    throw new DelimitedProblem('EMPTY_FILE', `${file.name} is empty; upload a file with at least a header row.`)
  }
  const labels = headerRow ? headerLabels(records, file, limits) : positions(records, file)
  const shape = { labels, headerRow, recordBytes: limits.recordBytes }
  const rows = headerRow ? { reader, records } : start()
  rows.records.width = labels.length
  return { ...rows, delimiter, shape }
}

function headerLabels(records: Records, file: TextFile, { recordBytes }: Limits): string[] {
  const refuse = (why: string) =>
    new DelimitedProblem(
      'HEADER_NOT_READABLE',
      `The header of ${file.name} in line ${records.line} cannot be read: ${why}.`,
    )
  if (records.fault === 'NUL_BYTE') throw refuse('it holds NUL bytes; if the file is UTF-16, save it as UTF-8')
  if (records.fault) throw refuse(reason(records, { labels: [], headerRow: true, recordBytes }))
  assertWidth(records, file)
  return Array.from({ length: records.scanner.count }, (_, index) => {
    const label = fieldText(records, index)
    if (label.length <= longestLabel) return label
    throw refuse(`label ${index + 1} is longer than ${longestLabel} characters; is the first row really a header?`)
  })
}

function positions(records: Records, file: TextFile): string[] {
  while (records.fault) {
    if (records.advance()) continue
    const text = `${file.name} has no row that can be read; check its encoding and its quotes.`
    throw new DelimitedProblem('NO_READABLE_ROW', text)
  }
  assertWidth(records, file)
  return Array.from({ length: records.scanner.count }, (_, index) => `column_${index + 1}`)
}

function assertWidth({ scanner, line }: Records, file: TextFile): void {
  if (scanner.count <= maxColumns) return
  const text = `${file.name} has ${scanner.count} columns in line ${line}; a table holds at most ${maxColumns}.`
  throw new DelimitedProblem('TOO_MANY_COLUMNS', text)
}
