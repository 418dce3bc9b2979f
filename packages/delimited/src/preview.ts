import type { Dialect, Guesses } from './dialect/dialect.ts'
import type { DelimitedOptions } from './dialect/options.ts'
import { describeGuesses } from './dialect/words.ts'
import type { ColumnType } from './column-type.ts'
import { defaultLimits } from './limits.ts'
import { type Machine, startMachine } from './machine.ts'
import { describeOddValue } from './odd-values.ts'
import { refusedRow, type RejectedRow, rejectedRow } from './reject.ts'
import { detectText, rowsOf } from './rows.ts'
import { Reading } from './reading.ts'
import { SampleEncoder } from './sample-encoder.ts'
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
  /** The first rows that fit, as a load would write them: each a tuple of PostgreSQL's binary COPY. */
  tuples: Buffer[]
  /** Rows of the sample that would be set aside, the first hundred of them. */
  rejected: RejectedRow[]
  /** How many rows were read, how many of them would be rejected, and whether these are all rows of the file. */
  sample: { rows: number; rejected: number; complete: boolean }
  /** Whether the types were inferred from all rows, and not from samples. */
  hasSeenAllRows: boolean
}

const sampleRows = 5000
const sampleBytes = 1024 * 1024
/** Bytes that a preview searches for odd values. */
const oddValueBytes = 4 * 1024 * 1024
const mostRejected = 100

/**
 * Reads the beginning of a file as a load would, within milliseconds whatever its size; types are guessed as a load guesses them at
 * first. Throws DelimitedProblem as `TextFile` and `detectDialect` do, and DATE_ORDER_CHANGED as a load does.
 */
export function previewRows(file: PreviewFile, options: DelimitedOptions, { rows: most = 100 } = {}): Preview {
  using text = new TextFile('fd' in file ? file.fd : file.path, file.name)
  const { dialect, guesses, notes } = detectText(text, options)
  const machine = startMachine()
  const reading = new Reading(text, dialect, defaultLimits, machine)
  reading.assertDateOrders()
  const { columns, hasSeenAllRows } = reading
  const rows = firstRows(machine, text, dialect, columns, most)
  return {
    guesses,
    description: describeGuesses(guesses),
    notes: [...notes, ...reading.findOddValues(oddValueBytes).map(describeOddValue)],
    columns,
    hasSeenAllRows,
    ...rows,
  }
}

function firstRows(
  machine: Machine,
  text: TextFile,
  dialect: Dialect,
  columns: readonly PreviewColumn[],
  most: number,
): Pick<Preview, 'tuples' | 'rejected' | 'sample'> {
  const encoder = new SampleEncoder(machine, dialect, columns)
  const { records, shape } = rowsOf(text, dialect, defaultLimits, machine.window)
  const tuples: Buffer[] = []
  const rejected: RejectedRow[] = []
  let rejectedRows = 0
  const reject = (row: RejectedRow) => {
    rejectedRows++
    if (rejected.length < mostRejected) rejected.push(row)
  }
  let rows = 0
  let bytes = 0
  let complete = false
  for (; rows < sampleRows && bytes < sampleBytes; rows++) {
    complete = !records.advance()
    if (complete) break
    bytes += records.next - records.from
    if (records.fault !== undefined) {
      reject(rejectedRow(records, shape))
      continue
    }
    const sampled = encoder.encode(records)
    // Types hold for the beginning that was looked at. What follows is no part of the sample.
    if (sampled === 'UNFIT') break
    if (sampled === 'RAGGED') {
      records.fault = sampled
      reject(rejectedRow(records, shape))
    } else if ('refusedBy' in sampled) {
      const { refusedBy } = sampled
      reject(refusedRow(records, shape, refusedBy, columns[refusedBy]!.dataType))
    } else if (tuples.length < most) tuples.push(sampled.tuple)
  }
  return { tuples, rejected, sample: { rows, rejected: rejectedRows, complete } }
}
