import type { DataType } from '@sluice/contracts'
import { type ReaderAdvice, withAdvice } from '../../advice.ts'

/** PostgreSQL's own limit of columns in a table; every kind of file is held to it before it is read. */
export const maxColumns = 1600

/** One column as a source understands it. Sources know no warehouse: `dataType` is the neutral list of the contracts. */
export interface FeedColumn {
  /** Identifier in the warehouse: lower case, unique in its table, at most 63 bytes. */
  name: string
  label: string
  dataType: DataType
  /** Total digits and digits after the point; DECIMAL only. */
  precision?: number
  scale?: number
  primaryKey?: boolean
  /**
   * Evidence for the type. Absent: the values or the source decide the type. NOTHING: there was no value. AMBIGUOUS: days
   * and months that could change places. REQUESTED: the settings give the type.
   */
  evidence?: 'NOTHING' | 'AMBIGUOUS' | 'REQUESTED'
}

/** The contents of a column, known after all rows were read. */
export interface ColumnFacts {
  column: string
  evidence?: FeedColumn['evidence']
  /** Whether days come before months in its values, where one of them said so. */
  dayFirst?: boolean
}

/** The stored type of a column. It can be wider than the type of the feed if the table was wider before. */
export type StoredType = Pick<FeedColumn, 'dataType' | 'precision' | 'scale'>

/** Rows on their way: whole tuples of PostgreSQL's binary COPY format, without its header and trailer. */
export interface TupleChunk {
  bytes: Uint8Array
  /** Called once when the bytes are no longer needed; their memory can then be reused. */
  release?(): void
}

/**
 * What one column holds, measured over every row that was given: `distinct` is an estimate, `min` and `max` are values as
 * PostgreSQL prints them, cut to 200 characters, `maxLength` is in characters. What was not measured is absent.
 */
export interface ColumnProfile {
  column: string
  nulls: number
  distinct?: number
  min?: string
  max?: string
  maxLength?: number
}

/**
 * The tuples of binary COPY are the interchange that every warehouse understands. Each chunk holds whole rows, so chunks
 * may go to several connections. `rows` is asked with what each column is stored as, in the order of the columns; it may
 * be asked again after `TypesWidened`, and begins anew then.
 */
export interface BinaryContent {
  format: 'copy-binary'
  rows(types: readonly StoredType[]): AsyncIterable<TupleChunk>
  /** Bytes of the source, if known or estimated. */
  size?: number
  /** Returns the profile of the last `rows`; call it after `rows` has ended. */
  profile?(): ColumnProfile[]
  /** Returns the contents of the columns; call it after `rows` has ended. Absent if the source knows its types. */
  facts?(): ColumnFacts[]
  /** Returns JSON that the source receives at its next reading; call it after `rows` has ended. */
  reading?(): unknown
}

/** One table of a source: its shape, then its rows as bytes that a warehouse can take. */
export interface SourceFeed {
  /** Empty for a source that has a single table; then the pipeline's own target table is meant. */
  table: string
  columns: FeedColumn[]
  /** The source leaves out columns that no record has a value for. */
  sparse?: boolean
  /** A sentence about parts of the source with rows that were not read although no setting excludes them. */
  unread?: string
  content: BinaryContent
  /** Returns the cursor of the next increment, as JSON; call it after all rows. It is stored in the transaction of the rows. */
  cursor?(): unknown
  /**
   * Set where each row is a part of a record of another feed. `column` holds the id of the record: the values of its `keys`, joined by `/`. An
   * increment has all parts of each of its records.
   */
  partOf?: { table: string; keys: readonly string[]; column: string }
  /** Of an increment, asked once all rows are through: whether they are all that there is after all, and replace the table's. */
  whole?(): boolean
}

/**
 * Thrown by `rows` of a feed whose columns were a guess that the rest of the source did not hold to. `columns` hold for
 * every row: same names, same order. What was loaded so far is to be forgotten, and `rows` to be asked again.
 */
export class TypesWidened extends Error {
  override readonly name = 'TypesWidened'
  readonly columns: FeedColumn[]

  constructor(columns: FeedColumn[]) {
    super('The rest of the source needs wider types than its samples.')
    this.columns = columns
  }
}

/** A row that does not fit, kept for people to look at. */
export interface RejectedRow {
  /** 1-based physical line of the record's first byte, as an editor counts it. */
  line: number
  /** The column's label, where one column is to blame. */
  column?: string
  reason: string
  /** The record as it stood in the source, cut to 4 KB. */
  raw: string
}

/** Receives the progress of a source. Counts are totals since the start, so a lost call does no harm. */
export interface LoadReport {
  progress(totals: { bytesRead?: number; bytesTotal?: number; rowsRead?: number }): void
  reject(row: RejectedRow): void
  /** So many rows more were set aside, behind as many that were given as are kept (`mostKeptRejects`). */
  rejectMore(count: number): void
  /** An increment was requested, but everything is read; `why` is the reason as a sentence for users. */
  readsEverything?(why: string): void
  /** Adds a sentence, with advice, to the log and to the final message of the run. It does not change the status of the run. */
  hint?(sentence: string, advice: ReaderAdvice): void
  /** Resets counts and rejected rows: the source is read again from the start. */
  startOver(): Promise<void>
  log(level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR', importance: 'LOW' | 'MEDIUM' | 'HIGH', message: string): void
}

/**
 * A place data comes from. Knows nothing of warehouses, runs or schedules.
 * Throws `SourceProblem` for what a person can mend; anything else is a bug.
 */
export interface DataSource<Config> {
  read(config: Config, report: LoadReport, signal: AbortSignal): AsyncIterable<SourceFeed>
}

/** The source cannot be read. The message tells the person who configured it what happened, where, and what to do. */
export class SourceProblem extends Error {
  override readonly name = 'SourceProblem'
  readonly code: string
  /** The message without the advice. */
  readonly sentence: string
  readonly advice: ReaderAdvice | undefined

  constructor(code: string, sentence: string, { advice, ...options }: ErrorOptions & { advice?: ReaderAdvice } = {}) {
    super(withAdvice(sentence, advice), options)
    this.code = code
    this.sentence = sentence
    this.advice = advice
  }
}
