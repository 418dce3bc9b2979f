import type { Dialect, Guesses } from './dialect/dialect.ts'
import type { DelimitedOptions } from './dialect/options.ts'
import { valueText } from './dialect/cell-text.ts'
import { describeGuesses } from './dialect/words.ts'
import { isText } from './column-state.ts'
import type { ColumnType } from './column-type.ts'
import { GivenTypes } from './given-types.ts'
import { defaultLimits } from './limits.ts'
import { type Machine, startMachine } from './machine.ts'
import type { Records } from './records.ts'
import { refusedRow, type RejectedRow, rejectedRow } from './reject.ts'
import { detectText, rowsOf } from './rows.ts'
import { QUOTED } from './scan.ts'
import { Reading } from './reading.ts'
import { TextFile } from './text-file.ts'

/** What is looked at: an open file or a path, both with what people call it. */
export type PreviewFile = { fd: number; name: string } | { path: string; name: string }

export interface PreviewColumn extends ColumnType {
  /** As it stands in the header, or `column_1` and so on. */
  label: string
}

/** What a file would be loaded as, before anything is saved. */
export interface Preview {
  guesses: Guesses
  /** The guesses as part of a sentence, and whole sentences about what else is to be known. */
  description: string
  notes: string[]
  /** The types are those of the sample. A load looks at all rows and widens a type where a later row needs it. */
  columns: PreviewColumn[]
  /** The first rows that fit; null for null. */
  rows: (string | null)[][]
  /** Rows of the sample that would be set aside, the first hundred of them. */
  rejected: RejectedRow[]
  /** How many rows were looked at, those that do not fit included, and whether they are all there are. */
  sample: { rows: number; complete: boolean }
}

const sampleRows = 5000
const sampleBytes = 1024 * 1024
const mostRejected = 100

/**
 * Reads the beginning of a file as a load would, within milliseconds whatever its size; types are guessed as a load guesses them at
 * first. Throws DelimitedProblem as `TextFile` and `detectDialect` do.
 */
export function previewRows(file: PreviewFile, options: DelimitedOptions, { rows: most = 100 } = {}): Preview {
  using text = new TextFile('fd' in file ? file.fd : file.path, file.name)
  const { dialect, guesses, notes } = detectText(text, options)
  const machine = startMachine()
  const { columns } = new Reading(text, dialect, defaultLimits, machine)
  const types = columns.map(({ dataType }) => dataType)
  const { cells, ...sample } = firstRows(machine, text, dialect, types, most)
  const texts = columns.map(({ dataType }) => isText(dataType))
  const rows = cells.map((row) => row.map((value, column) => (value === '' && !texts[column] ? null : value)))
  return { guesses, description: describeGuesses(guesses), notes, columns, rows, ...sample }
}

/** `types`: those of the columns, in words. */
function firstRows(machine: Machine, text: TextFile, dialect: Dialect, types: readonly string[], most: number) {
  const given = new GivenTypes(machine, dialect)
  const { records, shape } = rowsOf(text, dialect, defaultLimits, machine.window)
  const nulls = new Set(dialect.nulls)
  const cells: (string | null)[][] = []
  const rejected: RejectedRow[] = []
  let rows = 0
  let bytes = 0
  let complete = false
  for (; rows < sampleRows && bytes < sampleBytes; rows++) {
    complete = !records.advance()
    if (complete) break
    bytes += records.next - records.from
    const refusing = records.fault === undefined ? given.refuses(records) : undefined
    if (records.fault === undefined && refusing === undefined) {
      if (cells.length < most) cells.push(dialect.labels.map((_, index) => cell(records, index, nulls)))
    } else if (rejected.length < mostRejected) {
      rejected.push(
        refusing === undefined ? rejectedRow(records, shape) : refusedRow(records, shape, refusing, types[refusing]!),
      )
    }
  }
  return { cells, rejected, sample: { rows, complete } }
}

function cell({ bytes, scanner, grammar }: Records, index: number, nulls: ReadonlySet<string>): string | null {
  const from = scanner.starts[index]!
  const to = scanner.ends[index]!
  const mark = scanner.marks[index]!
  if (from === to) return mark & QUOTED ? '' : null
  if (nulls.size > 0 && nulls.has(bytes.toString('utf8', from, to))) return null
  return valueText(bytes, from, to, mark, grammar)
}
