import {
  type ColumnProfile,
  defaultDelimitedLimits,
  type DelimitedOptions,
  isDayFirst,
  type DelimitedLimits,
  type InferredColumn,
  type RememberedDialect,
} from '../delimited/delimited.ts'
import {
  type ReaderAdvice,
  identifiers,
  formatCount,
  describeColumns,
  type ColumnFacts,
  type RowStream,
  type FeedColumn,
  type LoadReport,
  type DataSource,
  type StoredType,
  type TupleChunk,
  TypesWidened,
} from '@sluice/row-stream'
import type { OpenedFile } from './protocol.ts'
import { startCsvThread } from './csv-in-thread.ts'

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

/** `csvSource.read` with other limits. */
export async function* readCsv(
  { path, fileName, written = false, reportOddValues = false, ...options }: CsvConfig,
  report: LoadReport,
  signal: AbortSignal,
  limits: DelimitedLimits,
): AsyncGenerator<RowStream, void, void> {
  signal.throwIfAborted()
  await using thread = startCsvThread({ file: path, fileName, options, limits, reportOddValues }, signal)
  const first = await thread.receive()
  if (first.kind !== 'opened') throw new Error(`The thread said ${first.kind} before it had opened ${fileName}`)
  const { opened } = first
  const columns = feedColumns(opened.columns, opened.names)
  report.log('INFO', 'LOW', `Read ${fileName}${written ? '' : describeGuesses(opened)}, ${describeContents(columns)}`)
  for (const note of opened.notes) report.log('INFO', 'MEDIUM', note)
  const rows = new CsvRows(thread, opened, report)
  const content = {
    format: 'copy-binary' as const,
    rows: (types: readonly StoredType[]) => rows.write(types),
    size: opened.size,
    profile: () => rows.profile(columns),
    facts: () => rows.facts(columns),
    ...(!written && { reading: () => ({ ...sign(options.remembered), ...opened.reading }) }),
  }
  yield { table: '', columns, content }
}

/** The rows of one file, which can be written repeatedly. */
class CsvRows {
  readonly #thread: ReturnType<typeof startCsvThread>
  readonly #opened: OpenedFile
  readonly #report: LoadReport
  #begun = false
  #profiles: ColumnProfile[] = []
  #columns: readonly InferredColumn[] = []

  constructor(thread: ReturnType<typeof startCsvThread>, opened: OpenedFile, report: LoadReport) {
    this.#thread = thread
    this.#opened = opened
    this.#report = report
  }

  async *write(types: readonly StoredType[]): AsyncGenerator<TupleChunk, void, void> {
    const thread = this.#thread
    if (this.#begun) await this.#report.startOver()
    this.#begun = true
    let ended = false
    try {
      thread.send({
        kind: 'ENCODE',
        types: types.map(({ dataType, precision, scale }) => stored(dataType, precision, scale)),
      })
      for (;;) {
        const message = await thread.receive()
        if (message.kind === 'progress') this.#report.progress(message.totals)
        else if (message.kind === 'chunk') {
          const { memory, length, rejected, writing } = message
          for (const row of rejected) this.#report.reject(row)
          const release = () => thread.send({ kind: 'FREE', memory, writing }, [memory])
          if (length > 0) yield { bytes: new Uint8Array(memory, 0, length), release }
          else release()
        } else if (message.kind === 'done') {
          this.#profiles = message.profiles
          this.#columns = message.columns
          for (const sentence of message.oddValues) this.#report.hint?.(sentence, oddValueAdvice)
          thread.letGo()
          return
        } else if (message.kind === 'widened') {
          ended = true
          throw new TypesWidened(feedColumns(message.columns, this.#opened.names))
        }
      }
    } finally {
      // The consumer requests the rows again only after widened types.
      if (!ended) await thread[Symbol.asyncDispose]()
    }
  }

  facts(columns: readonly FeedColumn[]): ColumnFacts[] {
    return this.#columns.map((column, index) => {
      const { evidence } = column
      const dayFirst = isDayFirst(column)
      return {
        column: columns[index]!.name,
        ...(evidence && { evidence }),
        ...(dayFirst !== undefined && { dayFirst }),
      }
    })
  }

  profile(columns: readonly FeedColumn[]) {
    return this.#profiles.map((profile, index) => ({ column: columns[index]!.name, ...profile }))
  }
}

const oddValueAdvice: ReaderAdvice = {
  pipeline:
    'Set dataType of the column in csvOptions.columns to reject such rows, or correct the file, upload it again and run once with "rebuild": true (POST /data-pipelines/{uid}/run).',
  dataset: 'To load the column with its type, correct the file and send it again with ?rebuild=true.',
}

function stored(dataType: StoredType['dataType'], precision?: number, scale?: number): StoredType {
  return { dataType, ...(precision !== undefined && { precision }), ...(scale !== undefined && { scale }) }
}

function feedColumns(columns: readonly InferredColumn[], given: readonly (string | undefined)[]): FeedColumn[] {
  const names = identifiers(columns.map(({ label }, index) => given[index] ?? label))
  return columns.map(({ label, dataType, precision, scale, evidence }, index) => ({
    name: names[index]!,
    label,
    ...stored(dataType, precision, scale),
    ...(evidence && { evidence }),
  }))
}

/** Keeps the remembered decimal sign if a file gives no evidence of its own. */
const sign = (remembered: RememberedDialect | undefined) => remembered?.decimal && { decimal: remembered.decimal }

const describeGuesses = ({ encoding, guesses }: OpenedFile): string => ` as ${encoding}, ${guesses}`

const describeContents = (columns: readonly FeedColumn[]): string =>
  `${formatCount(columns.length, 'column')}: ${describeColumns(columns)}`
