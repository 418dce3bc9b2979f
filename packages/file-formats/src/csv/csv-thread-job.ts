import type { DelimitedLimits } from '../delimited/limits.ts'
import type { DelimitedOptions, PreviousDialect } from '../delimited/dialect/delimited-options.ts'
import {
  DelimitedReader,
  type EncodingOutcome,
  type InferredColumn,
  type ProgressListener,
} from '../delimited/delimited-reader.ts'
import { describeGuesses } from '../delimited/dialect/detected-options.ts'
import type { LostFormat } from '../delimited/source-formats/find-lost-formats.ts'
import type { OddValue } from '../delimited/values-of-unexpected-type.ts'
import type { DetectedOptions } from '../delimited/dialect/dialect.ts'
import { detectText } from '../delimited/open-delimited-rows.ts'
import { startScanner } from '../delimited/wasm-scanner.ts'
import type { StoredType } from '@sluice/row-stream'
import { TextFile } from '../delimited/text-file.ts'
import type { ChunkPool, JobPort } from '../reader-thread-protocol.ts'

export interface CsvThreadJob {
  /** A path, or the descriptor of an open file of this process. */
  file: string | number
  fileName: string
  options: DelimitedOptions
  limits: DelimitedLimits
  /** True to search for the odd values that made a column TEXT, after all rows are written. */
  reportOddValues?: boolean
  /** True to search for values that are not printed in the formats of earlier loads, after all rows are written. */
  reportLostFormats?: boolean
}

/** The detected settings of an opened file. */
export interface OpenedFile {
  columns: InferredColumn[]
  /** The column names from the options. An entry is undefined if the options do not name that column. */
  names: (string | undefined)[]
  /** Texts for users: `guesses` is a part of a sentence, `notes` are sentences. */
  guesses: string
  notes: string[]
  /** A sentence about other tables in the file. They are not read although no option excludes them. */
  unread?: string
  /** The dialect to use for the next file of the same table. */
  reading: FileReading
  size: number
}

/** The dialect with which a file was read, as options for the next one. */
export type FileReading = Pick<PreviousDialect, 'delimiter' | 'quote' | 'escape' | 'headerRow' | 'decimal'>

export interface CsvResult {
  columns: readonly InferredColumn[]
  sourceFormats: readonly (string | undefined)[]
  /** The values that made a column TEXT. */
  oddValues: OddValue[]
  /** The values that are not printed in the formats of earlier loads. */
  lostFormats: LostFormat[]
}

/** The scanner of this thread. Every file that the thread reads uses its memory and compiled code. */
export const scanner = startScanner()

/**
 * Detects the dialect of a file, and sends its rows. If the inferred types are too narrow, sends all rows again with
 * wider types.
 */
export async function readCsvFile(
  { file: path, fileName, options, limits, reportOddValues = false, reportLostFormats = false }: CsvThreadJob,
  port: JobPort,
): Promise<CsvResult> {
  using file = new TextFile(path, fileName)
  const { dialect, guesses, decimalDecided, notes, unread: unreadWarning } = detectText(file, options)
  const reader = new DelimitedReader(file, dialect, limits, scanner)
  const bytesTotal = file.size
  let types = await port.open({
    columns: reader.columns,
    names: dialect.columns.map((column) => column?.name),
    guesses: describeGuesses(guesses),
    notes,
    ...(unreadWarning !== undefined && { unread: unreadWarning }),
    reading: dialectForNextFile(guesses, decimalDecided),
    size: bytesTotal,
  } satisfies OpenedFile)
  for (;;) {
    const outcome = await sendRows(reader, types, port.startPass(limits), (bytesRead, rowsRead) =>
      port.progress({ bytesRead, bytesTotal, rowsRead }),
    )
    if ('widened' in outcome) {
      types = await port.widen(outcome.widened)
      continue
    }
    port.progress({ bytesRead: bytesTotal, bytesTotal, rowsRead: outcome.rows }, true)
    const oddValues = reportOddValues ? reader.findOddValues() : []
    const lostFormats = reportLostFormats ? reader.findLostFormats() : []
    return { columns: reader.columns, sourceFormats: reader.sourceFormats, oddValues, lostFormats }
  }
}

/**
 * Encodes all rows of a file, and sends them in chunks with the rejected rows. Waits while the consumer has too many
 * unread chunks. Stops when a row does not fit the inferred types, and then returns wider types.
 */
export async function sendRows(
  reader: DelimitedReader,
  types: readonly StoredType[],
  pool: ChunkPool,
  onProgress: ProgressListener,
): Promise<EncodingOutcome> {
  const batches = reader.encode(types, onProgress)
  for (;;) {
    const { done, value } = batches.next()
    if (done) return value
    const { tuples, rejected } = value
    if (tuples.length > 0) {
      await pool.waitForRoom()
      const chunk = pool.open(tuples.length)
      chunk.set(tuples)
      // Sends the chunk.
      pool.close(chunk, tuples.length, rejected)
    } else if (rejected.length > 0) await pool.reject(rejected)
  }
}

/**
 * Returns the dialect for the next file of the table. Leaves out a decimal sign that was guessed, because no value
 * shows it.
 */
const dialectForNextFile = (
  { delimiter, quote, escape, headerRow, decimal }: DetectedOptions,
  isDecimalKnown: boolean,
): FileReading => ({
  delimiter: delimiter.value,
  quote: quote.value,
  escape: escape.value,
  headerRow: headerRow.value,
  ...(isDecimalKnown && { decimal: decimal.value }),
})
