import { defaultDelimitedLimits, type DelimitedLimits } from '../delimited/limits.ts'
import type { DelimitedOptions, PreviousDialect } from '../delimited/dialect/delimited-options.ts'
import { describeFormatsOfTexts, describeLostFormat } from '../delimited/source-formats/find-lost-formats.ts'
import { describeOddValue, type OddValue } from '../delimited/values-of-unexpected-type.ts'
import { isDayFirst } from '../delimited/dialect/column-type.ts'
import type { InferredColumn } from '../delimited/delimited-reader.ts'
import {
  type ColumnFacts,
  type DataSource,
  describeColumns,
  type Column,
  formatCount,
  type ReadReporter,
  type ReaderAdvice,
  type RowStream,
  type StoredType,
  type TupleChunk,
  TypesWidened,
} from '@sluice/row-stream'
import type { CsvThreadJob, CsvResult, OpenedFile } from './csv-thread-job.ts'
import { columnsWithNames } from './name-columns.ts'
import { type ReaderThread, receiveRows, startReaderThread } from '../start-reader-thread.ts'

/** Options for reading a file. Absent options are detected, see packages/file-formats/src/delimited/OPTIONS.md. */
export interface CsvConfig extends DelimitedOptions {
  /** A path on this machine, or the descriptor of an open file, which the caller closes. */
  path: string | number
  /** The file's name in messages, which must not show its path. */
  fileName: string
  /**
   * True if this process wrote the text from another format. Its encoding, delimiter and number formats then say
   * nothing about the source, so they are not reported.
   */
  isRewritten?: boolean
  /** True to read all rows before reporting types, because types inferred from samples have turned out wrong before. */
  observeAllRows?: boolean
  /**
   * True to report, with `ReadReporter.hint`, columns that are TEXT because of a few odd values, and values that are
   * not printed as in earlier loads.
   */
  reportOddValues?: boolean
}

/**
 * Reads a delimited text file as one row stream. Infers types from samples and checks them while it encodes the rows in
 * binary COPY format, so a file is read once if the inferred types fit. A thread reads the file, so that the event loop
 * stays responsive. Memory use does not depend on the file size. The consumer must read all chunks before it requests
 * the next stream. The README.md of packages/file-formats describes values, blank lines, broken quotes and encodings.
 */
export const csvSource: DataSource<CsvConfig> = {
  read: ({ observeAllRows, ...config }, report, signal) => {
    const limits = observeAllRows ? { ...defaultDelimitedLimits, wholeBytes: Infinity } : defaultDelimitedLimits
    return readCsv(config, report, signal, limits)
  },
}

/** Reads a delimited text file as `csvSource` does, with these limits. */
export async function* readCsv(
  { path, fileName, isRewritten = false, reportOddValues = false, ...options }: CsvConfig,
  report: ReadReporter,
  signal: AbortSignal,
  limits: DelimitedLimits,
): AsyncGenerator<RowStream, void, void> {
  signal.throwIfAborted()
  // The dialect of a text that was converted from a workbook or JSON says nothing about its source.
  const isSourceText = !isRewritten
  const reportLostFormats = reportOddValues && isSourceText
  const job: CsvThreadJob = { file: path, fileName, options, limits, reportOddValues, reportLostFormats }
  await using thread: CsvThread = startReaderThread('csv', job, { reading: fileName }, signal)
  const firstMessage = await thread.receive()
  if (firstMessage.kind !== 'opened')
    throw new Error(`The thread sent ${firstMessage.kind} before it had opened ${fileName}`)
  const { opened: openedFile } = firstMessage
  const columns = columnsWithNames(openedFile.columns, openedFile.names)
  const dialectText = isSourceText ? ` as UTF-8, ${openedFile.guesses}` : ''
  report.log('INFO', 'LOW', `Read ${fileName}${dialectText}, ${describeContents(columns)}`)
  for (const note of openedFile.notes) report.log('INFO', 'MEDIUM', note)
  const earlierTextDialect = reportOddValues && !isSourceText ? options.previousDialect : undefined
  const rows = new CsvRows(thread, openedFile, report, { isSourceText, earlierTextDialect })
  const content = {
    format: 'copy-binary' as const,
    rows: (types: readonly StoredType[]) => rows.read(types),
    size: openedFile.size,
    facts: () => rows.facts(columns),
    // The decimal sign of the previous load stays valid if no value of this file shows one.
    ...(isSourceText && {
      reading: () => ({ ...pickDecimal(options.previousDialect), ...openedFile.reading }),
    }),
  }
  yield { table: '', columns, content, ...(openedFile.unread !== undefined && { unread: openedFile.unread }) }
}

type CsvThread = ReaderThread<CsvResult, OpenedFile, InferredColumn[]>

/** The rows of one file. They can be read repeatedly. */
class CsvRows {
  readonly #thread: CsvThread
  readonly #opened: OpenedFile
  readonly #report: ReadReporter
  /** True if the text is that of the source. False if this process wrote it from another format. */
  readonly #isSourceText: boolean
  /** Set if the text was written from another format, and the table may have formats of earlier texts. */
  readonly #earlierTextDialect: PreviousDialect | undefined
  #hasStarted = false
  #result: CsvResult = { columns: [], sourceFormats: [], oddValues: [], lostFormats: [] }

  constructor(
    thread: CsvThread,
    openedFile: OpenedFile,
    report: ReadReporter,
    { isSourceText, earlierTextDialect }: { isSourceText: boolean; earlierTextDialect: PreviousDialect | undefined },
  ) {
    this.#isSourceText = isSourceText
    this.#earlierTextDialect = earlierTextDialect
    this.#thread = thread
    this.#opened = openedFile
    this.#report = report
  }

  /**
   * Yields the rows, encoded for these stored types. Throws `TypesWidened` if the inferred types do not fit all rows.
   * If rows were read before, first reports that reading starts over.
   */
  async *read(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    if (this.#hasStarted) await this.#report.startOver()
    this.#hasStarted = true
    const outcome = yield* receiveRows(this.#thread, types, this.#report)
    if ('widened' in outcome) throw new TypesWidened(columnsWithNames(outcome.widened, this.#opened.names))
    this.#result = outcome.result
    reportValues(outcome.result, this.#report)
    const lostFormats =
      this.#earlierTextDialect && describeFormatsOfTexts(outcome.result.columns, this.#earlierTextDialect)
    if (lostFormats !== undefined) this.#report.hint?.(lostFormats, textAdvice)
  }

  /** Returns what is known about the columns after all rows were read. */
  facts(columns: readonly Column[]): ColumnFacts[] {
    const { columns: readColumns, sourceFormats } = this.#result
    return readColumns.map((column, index) => {
      const { evidence } = column
      const sourceFormat = this.#isSourceText ? sourceFormats[index] : undefined
      const dayFirst = isDayFirst(column)
      return {
        column: columns[index]!.name,
        ...(evidence && { evidence }),
        ...(dayFirst !== undefined && { dayFirst }),
        ...(sourceFormat !== undefined && { sourceFormat }),
      }
    })
  }
}

/** Reports the values that made a column TEXT, and those that are not printed as in earlier loads, with advice. */
export function reportValues(
  { oddValues, lostFormats }: Pick<CsvResult, 'oddValues' | 'lostFormats'>,
  report: ReadReporter,
): void {
  for (const oddValue of oddValues) reportOddValue(oddValue, report)
  for (const lostFormat of lostFormats) report.hint?.(describeLostFormat(lostFormat), lostFormatAdvice)
}

const lostFormatAdvice: ReaderAdvice = {
  pipeline:
    'To keep the format, restore the previous rows (POST /data-pipelines/{uid}/restore), correct the file and load it again.',
}

const textAdvice: ReaderAdvice = {
  pipeline:
    'To keep the formats, restore the previous rows (POST /data-pipelines/{uid}/restore) and load the new ones as CSV.',
}

function reportOddValue(oddValue: OddValue, report: ReadReporter): void {
  const hasDecimalComma = oddValue.family === 'DECIMAL_COMMA'
  const settings = hasDecimalComma
    ? 'Set decimal to COMMA in csvOptions, and dataType of the column in csvOptions.columns,'
    : 'Set dataType of the column in csvOptions.columns'
  report.hint?.(describeOddValue(oddValue), {
    pipeline: `${settings} to reject such rows, or correct the file, upload it again and run once with "rebuild": true, which replaces all rows of the table (POST /data-pipelines/{uid}/run).`,
    dataset:
      'To load the column with its type, correct the file and send it again with ?rebuild=true, which replaces all rows of the table.',
  })
}

const pickDecimal = (dialect: PreviousDialect | undefined) => dialect?.decimal && { decimal: dialect.decimal }

const describeContents = (columns: readonly Column[]): string =>
  `${formatCount(columns.length, 'column')}: ${describeColumns(columns)}`
