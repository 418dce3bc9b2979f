import {
  type Column,
  type ColumnFacts,
  describeColumns,
  formatCount,
  type ReadReporter,
  type StoredType,
  type TupleChunk,
  TypesWidened,
} from '@sluice/row-stream'
import type { DelimitedOptions } from '../delimited/dialect/delimited-options.ts'
import { defaultDelimitedLimits } from '../delimited/limits.ts'
import type { RowSuffix, TextSegment } from '../delimited/similar-texts/text-part.ts'
import { receiveRows, startReaderThread } from '../start-reader-thread.ts'
import { reportValues } from './csv-source.ts'
import { columnsWithNames } from './name-columns.ts'
import type { SimilarTextsJob, SimilarTextsResult, TextPartsJob, TextPartsResult } from './run-csv-thread-job.ts'

export type { RowSuffix, TextSegment } from '../delimited/similar-texts/text-part.ts'

/** A group of texts in one file, such as many small CSV objects, that are read as if they were one text. */
export class SimilarTextGroup {
  /** The columns. Their types fit all rows, unless the types were inferred from samples. */
  columns: Column[]
  readonly segments: readonly TextSegment[]
  readonly #file: number
  readonly #result: SimilarTextsResult
  #knownColumns: SimilarTextsResult['known']

  constructor(file: number, segments: readonly TextSegment[], result: SimilarTextsResult) {
    this.segments = segments
    this.#file = file
    this.#result = result
    this.#knownColumns = result.known
    this.columns = this.#namedColumns()
  }

  /** Describes the texts and how they are read, for the log. The sentence has no full stop. */
  describe(): string {
    const { guesses } = this.#result
    return `Read ${this.#name} as UTF-8, ${guesses}, ${formatCount(this.columns.length, 'column')}: ${describeColumns(this.columns)}`
  }

  /** Sentences for the log about the texts, such as skipped lines. */
  get notes(): readonly string[] {
    return this.#result.notes
  }

  /** Sentences about tables in the texts that are not read. */
  get unread(): readonly string[] {
    return this.#result.unread
  }

  /**
   * Yields the rows of all texts. Each row ends with the suffix fields of its text. Returns the number of rows of each
   * text, and what is known about the columns. Throws `TypesWidened` if inferred types do not fit; `columns` then has
   * the wider types, and the rows can be read again.
   */
  async *rows(
    types: readonly StoredType[],
    suffixes: readonly RowSuffix[],
    report: ReadReporter,
    signal: AbortSignal,
  ): AsyncGenerator<TupleChunk, { writtenRowCounts: number[]; facts: ColumnFacts[] }, void> {
    const { dialect, parts } = this.#result
    const job: TextPartsJob = {
      file: this.#file,
      fileName: this.#name,
      dialect,
      parts: parts.map((part, index) => ({ ...part, name: this.segments[index]!.name, suffix: suffixes[index]! })),
      known: this.#knownColumns,
      limits: defaultDelimitedLimits,
    }
    await using thread = startReaderThread<TextPartsResult, object>('csv', job, { reading: this.#name }, signal)
    const firstMessage = await thread.receive()
    if (firstMessage.kind !== 'opened')
      throw new Error(`The thread sent ${firstMessage.kind} before it had opened ${this.#name}`)
    const outcome = yield* receiveRows(thread, types, report)
    if ('widened' in outcome) throw new Error('The thread sent types instead of its result')
    const { known: knownColumns, isWidened, sourceFormats, writtenRowCounts } = outcome.result
    if (isWidened) {
      this.#knownColumns = knownColumns
      this.columns = this.#namedColumns()
      throw new TypesWidened(this.columns)
    }
    reportValues(outcome.result, report)
    const facts = knownColumns.columns.map(({ evidence }, index) => ({
      column: this.columns[index]!.name,
      ...(evidence && { evidence }),
      ...(sourceFormats[index] !== undefined && { sourceFormat: sourceFormats[index] }),
    }))
    return { writtenRowCounts, facts }
  }

  get #name(): string {
    const otherTextCount = this.segments.length - 1
    const { name } = this.segments[0]!
    return otherTextCount === 0 ? name : `${name} and ${formatCount(otherTextCount, 'similar text')}`
  }

  /** Returns the known columns with their names in the table. */
  #namedColumns(): Column[] {
    const names = this.#result.dialect.columns.map((column) => column?.name)
    return columnsWithNames(this.#knownColumns.columns, names)
  }
}

/**
 * Groups the delimited texts of a file. A group consists of texts with the same dialect (delimiter, quotes, header),
 * which are read as one, and infers the types of its columns. `onProgress` is called while the texts are read. Throws
 * SourceProblem or the signal's reason.
 */
export async function groupSimilarTexts(
  { file, segments, options }: { file: number; segments: readonly TextSegment[]; options: DelimitedOptions },
  onProgress: () => void,
  signal: AbortSignal,
): Promise<SimilarTextGroup[]> {
  if (segments.length === 0) return []
  const job: SimilarTextsJob = { file, segments: [...segments], options, limits: defaultDelimitedLimits }
  const results = await groupInThread(job, onProgress, signal)
  return results.map((result) => {
    const segmentsOfGroup = result.indexes.map((index) => segments[index]!)
    return new SimilarTextGroup(file, segmentsOfGroup, result)
  })
}

/** Groups texts in a reader thread, and calls `onProgress` for each message of the thread. */
async function groupInThread(
  job: SimilarTextsJob,
  onProgress: () => void,
  signal: AbortSignal,
): Promise<SimilarTextsResult[]> {
  const names = { reading: job.segments[0]!.name }
  await using thread = startReaderThread<SimilarTextsResult[]>('csv', job, names, signal)
  for (;;) {
    const message = await thread.receive()
    onProgress()
    if (message.kind !== 'done') continue
    thread.release()
    return message.result
  }
}
