import type { DataType } from '@sluice/contracts'
import type { ReaderAdvice } from './source-problem.ts'

/** PostgreSQL's limit of columns per table; applied to every kind of file before it is read. */
export const maxColumns = 1600

/** The types that contain a date. */
export const temporalTypes: readonly DataType[] = ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ']

/** One column, as a source describes it and a warehouse creates it. */
export interface Column {
  /** Identifier in the warehouse: lower case, unique in its table, at most 63 bytes. */
  name: string
  label: string
  dataType: DataType
  /** Total digits and digits after the point; DECIMAL only. */
  precision?: number
  scale?: number
  primaryKey?: boolean
  evidence?: TypeEvidence
}

/**
 * Evidence for the type of a column. Absent: the values or the source decide the type. NOTHING: the column had no value.
 * AMBIGUOUS: day and month could be swapped. REQUESTED: the settings give the type.
 */
export type TypeEvidence = 'NOTHING' | 'AMBIGUOUS' | 'REQUESTED'

/** Facts about a column, known after all rows were read. */
export interface ColumnFacts {
  column: string
  evidence?: TypeEvidence
  /** Whether days come before months in the values; set if a value proved it. */
  dayFirst?: boolean
  /** The form in which the source prints all values, such as `DD.MM.YYYY` or `0,00`. Absent if they have several forms. */
  printedForm?: string
}

/** The stored type of a column. It can be wider than the type of the feed if the table was wider before. */
export type StoredType = Pick<Column, 'dataType' | 'precision' | 'scale'>

/** A chunk of rows: whole tuples of PostgreSQL's binary COPY format, without its header and trailer. */
export interface TupleChunk {
  bytes: Uint8Array
  /** Called once when the bytes are no longer needed; their memory can then be reused. */
  release?(): void
}

/** A frequent value of a column. `value` is cut to 64 bytes if it has more; `bytes` is then its whole length. */
export interface FrequentValue {
  value: string
  bytes?: number
  /** The number of rows with the value: an estimate if `atLeast`, a lower bound, is there; otherwise exact. */
  rows: number
  atLeast?: number
}

/**
 * Profile of one column. Nulls, minimum, maximum and lengths are exact. `min`, `max` and frequent values are written as PostgreSQL
 * prints them, cut to 64 bytes. Texts are compared by their bytes. Fields that the type does not have are absent: JSONB has only nulls
 * and distinct values, and only numbers and times have a histogram.
 */
export interface ColumnProfile {
  column: string
  nulls: number
  distinct: number
  /** Whether `distinct` is an estimate, with a standard error of 3.3 %. */
  isEstimate?: true
  min?: string
  max?: string
  /** Bytes of the minimum and maximum if they are cut. */
  minBytes?: number
  maxBytes?: number
  /** Characters of the shortest and the longest text. */
  minLength?: number
  maxLength?: number
  /** The number of values that are infinite or NaN. The histogram omits them. */
  notFinite?: number
  /** At most ten, the most frequent first. */
  frequentValues?: FrequentValue[]
  /** Buckets of equal width: bucket `i` has the values from `bounds[i]` to `bounds[i + 1]`, the last bucket both of them. */
  histogram?: { bounds: string[]; rows: number[] }
  /** The rows of the random sample from which frequent values and histogram are estimated. Absent if both are exact. */
  sampledRows?: number
}

/**
 * Rows as tuples of binary COPY, the interchange format that every warehouse accepts. Each chunk holds whole rows, so
 * chunks may go to several connections. `rows` receives the stored type of each column, in the order of the columns. The
 * consumer may call `rows` again after `TypesWidened`; the rows then start again from the first one.
 */
export interface RowContent {
  format: 'copy-binary'
  rows(types: readonly StoredType[]): AsyncIterable<TupleChunk>
  /** Bytes of the source, if known or estimated. */
  size?: number
  /** Returns facts about the values of each column; call it after `rows` has ended. Undefined if the source knows its types. */
  facts?(): ColumnFacts[]
  /** Returns state (JSON) that is passed to the source at the next load; call it after `rows` has ended. */
  reading?(): unknown
}

/** One table of a source: its columns, then its rows as bytes that a warehouse can load. */
export interface RowStream {
  /** Empty for a source that has a single table; the pipeline's own target table is then used. */
  table: string
  columns: Column[]
  /** Whether the source leaves out columns without a value in any record. */
  sparse?: boolean
  /** A sentence about parts of the source with rows that were not read although no setting excludes them. */
  unread?: string
  content: RowContent
  /** Returns the cursor of the next increment, as JSON; call it after all rows. It is stored in the transaction of the rows. */
  cursor?(): unknown
  /**
   * Set if each row is a part of a record of another feed. `column` holds the id of the record: the values of its `keys`,
   * joined by `/`. An increment has all parts of each of its records.
   */
  partOf?: { table: string; keys: readonly string[]; column: string }
  /**
   * The column that identifies the part of the source, such as an object, that a row is from. Rows that are appended replace the rows of the
   * same part.
   */
  replaces?: string
  /**
   * Columns that say which of several rows with the same key counts, if rows are merged by a key of the pipeline: the one with the greatest
   * values. Rows of equal values are duplicates, which the warehouse refuses.
   */
  precedence?: readonly string[]
  /** Set if the rows are not data of the source, but list the other tables of the run. */
  listsTables?: true
  /**
   * The column that marks deleted rows, by its name in the warehouse. An increment deletes the rows with the keys that it marks: true, a
   * number other than 0, or a date.
   */
  deletedColumn?: string
  /** Called for an increment after all rows. Returns true if the rows are the complete table, so that they replace it. */
  whole?(): boolean
}

/** The facts of the last load that a source uses. Same structure as the warehouse's type, so that neither module imports the other. */
export interface RememberedFeed {
  columns: readonly { name: string; label: string; dataType: DataType; vanished?: true; dayFirst?: boolean }[]
  /** The JSON that `RowContent.reading` returned in the last load. */
  reading?: unknown
}

/**
 * Thrown by `rows` if values do not fit the guessed types of the feed's columns. `columns` fit every row, with the same
 * names in the same order. The consumer discards the rows loaded so far and calls `rows` again.
 */
export class TypesWidened extends Error {
  override readonly name = 'TypesWidened'
  readonly columns: Column[]

  constructor(columns: Column[]) {
    super('The rest of the source needs wider types than its samples.')
    this.columns = columns
  }
}

/** A rejected row, stored for users to examine. */
export interface RejectedRow {
  /** 1-based physical line of the record's first byte, as an editor counts it. */
  line: number
  /** The label of the column at fault, if it is a single column. */
  column?: string
  reason: string
  /** The record as written in the source, cut to 4 KB. */
  raw: string
}

/** Receives the progress of a source. Counts are totals since the start, so a lost call does no harm. */
export interface ReadReporter {
  progress(totals: { bytesRead?: number; bytesTotal?: number; rowsRead?: number }): void
  reject(row: RejectedRow): void
  /** Counts further rejected rows, after `mostKeptRejects` rows have been passed on. */
  rejectMore(count: number): void
  /** An increment was requested, but everything is read; `why` is the reason as a sentence for users. */
  readsEverything?(why: string): void
  /** The source has nothing that the table does not have; `why` is the reason as a sentence for users. Gives the run the status WARNING. */
  nothingNew?(why: string): void
  /** Adds a sentence, with advice, to the log and to the final message of the run. It does not change the status of the run. */
  hint?(sentence: string, advice: ReaderAdvice): void
  /** Resets counts and rejected rows: the source is read again from the start. */
  startOver(): Promise<void>
  log(level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR', importance: 'LOW' | 'MEDIUM' | 'HIGH', message: string): void
}

/**
 * A source of data. It does not depend on warehouses, runs or schedules. Throws `SourceProblem` for problems that a user
 * can fix; any other error is a bug.
 */
export interface DataSource<Config> {
  read(config: Config, report: ReadReporter, signal: AbortSignal): AsyncIterable<RowStream>
}

/** Returns the columns of the last load, without values. */
export const columnsBefore = (remembered: RememberedFeed | undefined): Column[] =>
  (remembered?.columns ?? [])
    .filter(({ vanished }) => !vanished)
    .map(({ name, label, dataType }) => ({ name, label, dataType, evidence: 'NOTHING' }))

export const emptyRowStream = (table: string, columns: Column[]): RowStream => ({
  table,
  columns,
  sparse: true,
  content: { format: 'copy-binary', rows: async function* () {}, size: 0 },
})
