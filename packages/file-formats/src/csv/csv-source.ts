import { defaultDelimitedLimits, type DelimitedLimits } from '../delimited/limits.ts'
import type { DelimitedOptions, RememberedDialect } from '../delimited/dialect/delimited-options.ts'
import { isDayFirst } from '../delimited/dialect/column-type.ts'
import type { InferredColumn } from '../delimited/delimited-reader.ts'
import {
  type ColumnFacts,
  type DataSource,
  describeColumns,
  type Column,
  formatCount,
  toUniqueIdentifiers,
  type ReadReporter,
  type ReaderAdvice,
  type RowStream,
  type StoredType,
  type TupleChunk,
  TypesWidened,
} from '@sluice/row-stream'
import type { CsvJob, CsvResult, OpenedFile } from './csv-job.ts'
import { type ReaderThread, receiveRows, startReaderThread } from '../start-reader-thread.ts'

/** Absent options are detected: packages/file-formats/src/delimited/OPTIONS.md. */
export interface CsvConfig extends DelimitedOptions {
  /** A path on this machine, or the descriptor of an open file, which stays open. */
  path: string | number
  /** The display name; messages show it instead of the path. */
  fileName: string
  /** Whether this process wrote the file, from a source that has neither encoding nor delimiter. */
  written?: boolean
  /** Read all rows before reporting types, because a guess from samples was wrong before. */
  lookAtAll?: boolean
  /** Report columns that are TEXT because of a few odd values, with `Report.hint`. */
  reportOddValues?: boolean
}

/**
 * A delimited text file as one feed. Types are guessed from samples and proven while the rows are written as tuples of
 * binary COPY, so a file is read once if the guess holds. A thread reads the file, so the event loop stays free; memory
 * does not depend on the size of the file. The consumer must read the chunks before it requests the next feed. The
 * README.md of packages/file-formats describes values, blank lines, broken quotes and encodings.
 */
export const csvSource: DataSource<CsvConfig> = {
  read: ({ lookAtAll, ...config }, report, signal) =>
    readCsv(
      config,
      report,
      signal,
      lookAtAll ? { ...defaultDelimitedLimits, wholeBytes: Infinity } : defaultDelimitedLimits,
    ),
}

/** Reads like `csvSource.read`, with other limits. */
export async function* readCsv(
  { path, fileName, written = false, reportOddValues = false, ...options }: CsvConfig,
  report: ReadReporter,
  signal: AbortSignal,
  limits: DelimitedLimits,
): AsyncGenerator<RowStream, void, void> {
  signal.throwIfAborted()
  const job: CsvJob = { file: path, fileName, options, limits, reportOddValues }
  await using thread: CsvThread = startReaderThread('csv', job, { reading: fileName }, signal)
  const first = await thread.receive()
  if (first.kind !== 'opened') throw new Error(`The thread sent ${first.kind} before it had opened ${fileName}`)
  const { opened } = first
  const columns = feedColumns(opened.columns, opened.names)
  report.log(
    'INFO',
    'LOW',
    `Read ${fileName}${written ? '' : ` as UTF-8, ${opened.guesses}`}, ${describeContents(columns)}`,
  )
  for (const note of opened.notes) report.log('INFO', 'MEDIUM', note)
  const rows = new CsvRows(thread, opened, report, !written)
  const content = {
    format: 'copy-binary' as const,
    rows: (types: readonly StoredType[]) => rows.read(types),
    size: opened.size,
    facts: () => rows.facts(columns),
    ...(!written && { reading: () => ({ ...findRememberedDecimal(options.remembered), ...opened.reading }) }),
  }
  yield { table: '', columns, content, ...(opened.unread !== undefined && { unread: opened.unread }) }
}

type CsvThread = ReaderThread<CsvResult, OpenedFile, InferredColumn[]>

/** The rows of one file, which can be read repeatedly. */
class CsvRows {
  readonly #thread: CsvThread
  readonly #opened: OpenedFile
  readonly #report: ReadReporter
  /** Whether the text is as the source has it, and not made from another format. */
  readonly #isSourceText: boolean
  #hasStarted = false
  #result: CsvResult = { columns: [], printedForms: [], oddValues: [] }

  constructor(thread: CsvThread, opened: OpenedFile, report: ReadReporter, isSourceText: boolean) {
    this.#isSourceText = isSourceText
    this.#thread = thread
    this.#opened = opened
    this.#report = report
  }

  async *read(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    if (this.#hasStarted) await this.#report.startOver()
    this.#hasStarted = true
    const outcome = yield* receiveRows(this.#thread, types, this.#report)
    if ('widened' in outcome) throw new TypesWidened(feedColumns(outcome.widened, this.#opened.names))
    this.#result = outcome.result
    for (const sentence of outcome.result.oddValues) this.#report.hint?.(sentence, oddValueAdvice)
  }

  facts(columns: readonly Column[]): ColumnFacts[] {
    const { columns: readColumns, printedForms } = this.#result
    return readColumns.map((column, index) => {
      const { evidence } = column
      const printedForm = this.#isSourceText ? printedForms[index] : undefined
      const dayFirst = isDayFirst(column)
      return {
        column: columns[index]!.name,
        ...(evidence && { evidence }),
        ...(dayFirst !== undefined && { dayFirst }),
        ...(printedForm !== undefined && { printedForm }),
      }
    })
  }
}

export const oddValueAdvice: ReaderAdvice = {
  pipeline:
    'Set dataType of the column in csvOptions.columns to reject such rows, or correct the file, upload it again and run once with "rebuild": true, which replaces all rows of the table (POST /data-pipelines/{uid}/run).',
  dataset:
    'To load the column with its type, correct the file and send it again with ?rebuild=true, which replaces all rows of the table.',
}

export function feedColumns(columns: readonly InferredColumn[], given: readonly (string | undefined)[]): Column[] {
  const names = toUniqueIdentifiers(columns.map(({ label }, index) => given[index] ?? label))
  return columns.map(({ label, dataType, precision, scale, evidence }, index) => ({
    name: names[index]!,
    label,
    dataType,
    ...(precision !== undefined && { precision }),
    ...(scale !== undefined && { scale }),
    ...(evidence && { evidence }),
  }))
}

/** Keeps the remembered decimal sign if a file gives no evidence of its own. */
const findRememberedDecimal = (remembered: RememberedDialect | undefined) =>
  remembered?.decimal && { decimal: remembered.decimal }

const describeContents = (columns: readonly Column[]): string =>
  `${formatCount(columns.length, 'column')}: ${describeColumns(columns)}`
