import type { DelimitedDialect, DetectedOptions } from '../dialect/dialect.ts'
import type { DelimitedOptions } from '../dialect/delimited-options.ts'
import { describeGuesses } from '../dialect/detected-options.ts'
import type { ColumnType } from '../dialect/column-type.ts'
import { defaultDelimitedLimits } from '../limits.ts'
import { startScanner, type WasmScanner } from '../wasm-scanner.ts'
import { describeOddValues } from '../values-of-unexpected-type.ts'
import type { RejectedRow } from '@sluice/row-stream'
import { rejectFaultyRecord, rejectUnfitValue } from '../rejected-row.ts'
import { detectText, openRows } from '../open-delimited-rows.ts'
import { DelimitedReader } from '../delimited-reader.ts'
import { TextFile } from '../text-file.ts'
import { findSourceFormats } from '../source-formats/find-source-formats.ts'
import { SampleEncoder } from '../sample-encoder.ts'

/** The file to preview, as a descriptor or a path, and its name in messages. */
type PreviewFile = { fd: number; name: string } | { path: string; name: string }

interface PreviewColumn extends ColumnType {
  /** The label from the header, or `column_1` and so on without a header. */
  label: string
}

export interface PreviewJob {
  file: PreviewFile
  options: DelimitedOptions
  /** The maximum number of rows to return. */
  rows: number
}

/** The result of reading the start of a file as a load would, without storing anything. */
export interface DelimitedPreview {
  guesses: DetectedOptions
  /** The detected options as a part of a sentence, and further findings as complete sentences. */
  description: string
  notes: string[]
  /** A sentence about other tables in the file. A load does not read them although no option excludes them. */
  unread?: string
  /** The columns with their types in the sample. A load checks all rows and widens types if later rows need it. */
  columns: PreviewColumn[]
  /**
   * The first rows that fit their types, as a load would write them: each is one row in PostgreSQL's binary COPY
   * format.
   */
  tuples: Buffer[]
  /** The line on which each of these rows begins, counted from 1. */
  lines: number[]
  /** The source format of each column in the sample. */
  sourceFormats: (string | undefined)[]
  /** The first hundred rows of the sample that would be rejected. */
  rejected: RejectedRow[]
  /**
   * The number of rows read, the number of these that a load would reject, and whether they are all rows of the file.
   */
  sample: { rows: number; rejected: number; complete: boolean }
  /** True if the types were inferred from all rows, not from samples. */
  hasSeenAllRows: boolean
}

/** A preview reads at most this many rows, and stops after the row with which it has read this many bytes. */
const sampleRows = 5000
const sampleBytes = 1024 * 1024
/** The bytes at the start of a file in which a preview searches for odd values. */
const oddValueBytes = 4 * 1024 * 1024
/** The maximum number of rejected rows in a preview. */
const maxRejected = 100

/**
 * Reads the start of a file as a load would, within milliseconds for a file of any size. Infers types from this sample.
 * Throws the errors of `TextFile` and `detectDialect`, and DATE_ORDER_CHANGED as a load does.
 */
export const previewJob = async ({ file, options, rows }: PreviewJob): Promise<DelimitedPreview> =>
  previewRows(file, options, { rows })

/** Returns the preview of a file; see `previewJob`. */
export function previewRows(
  file: PreviewFile,
  options: DelimitedOptions,
  { rows: maxRows = 100 } = {},
): DelimitedPreview {
  using text = new TextFile('fd' in file ? file.fd : file.path, file.name)
  const { dialect, guesses, notes, unread: unreadWarning } = detectText(text, options)
  const wasm = startScanner()
  const reader = new DelimitedReader(text, dialect, defaultDelimitedLimits, wasm)
  reader.assertDateOrders()
  const { columns, hasSeenAllRows } = reader
  const firstRows = readFirstRows(wasm, text, dialect, columns, maxRows)
  const oddValues = reader.findOddValues(oddValueBytes)
  return {
    guesses,
    description: describeGuesses(guesses),
    notes: [...notes, ...describeOddValues(oddValues)],
    columns,
    hasSeenAllRows,
    ...(unreadWarning !== undefined && { unread: unreadWarning }),
    ...firstRows,
  }
}

/**
 * Encodes the rows of the sample. Stops at the first row that needs wider types. Returns at most `maxRows` encoded
 * rows, at most `maxRejected` rejected rows, and the numbers of all rows and all rejected rows that were read.
 */
function readFirstRows(
  wasm: WasmScanner,
  text: TextFile,
  dialect: DelimitedDialect,
  columns: readonly PreviewColumn[],
  maxRows: number,
): Pick<DelimitedPreview, 'tuples' | 'lines' | 'sourceFormats' | 'rejected' | 'sample'> {
  const encoder = new SampleEncoder(wasm, dialect, columns)
  const { records, shape } = openRows(text, dialect, defaultDelimitedLimits, wasm.window)
  const tuples: Buffer[] = []
  const lines: number[] = []
  const rejected: RejectedRow[] = []
  let rejectedRows = 0
  const reject = (row: RejectedRow) => {
    rejectedRows++
    if (rejected.length < maxRejected) rejected.push(row)
  }
  let rowCount = 0
  let byteCount = 0
  let isComplete = false
  for (; rowCount < sampleRows && byteCount < sampleBytes; rowCount++) {
    isComplete = !records.advance()
    if (isComplete) break
    byteCount += records.next - records.from
    if (records.fault !== undefined) {
      reject(rejectFaultyRecord(records, shape))
      continue
    }
    const encodingResult = encoder.encode(records)
    if (encodingResult === 'TYPES_TOO_NARROW') break
    if (encodingResult === 'RAGGED') {
      records.fault = encodingResult
      reject(rejectFaultyRecord(records, shape))
    } else if ('rejectingColumn' in encodingResult) {
      const { rejectingColumn } = encodingResult
      reject(rejectUnfitValue(records, shape, rejectingColumn, columns[rejectingColumn]!.dataType))
    } else if (tuples.length < maxRows) {
      tuples.push(encodingResult.tuple)
      lines.push(records.line)
    }
  }
  const sourceFormats = findSourceFormats(wasm, columns, dialect)
  return {
    tuples,
    lines,
    sourceFormats,
    rejected,
    sample: { rows: rowCount, rejected: rejectedRows, complete: isComplete },
  }
}
