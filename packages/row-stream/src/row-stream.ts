import type { DataType } from '@sluice/contracts'
import type { ReaderAdvice } from './source-problem.ts'

/** PostgreSQL's maximum number of columns per table. Checked for every kind of file before it is read. */
export const maxColumns = 1600

/** The data types that contain a date. */
export const temporalTypes: readonly DataType[] = ['DATE', 'TIMESTAMP', 'TIMESTAMPTZ']

/** A column, as a source describes it and a warehouse creates it. */
export interface Column {
  /** The name in the warehouse: lower case, unique within the table, at most 63 bytes. */
  name: string
  label: string
  dataType: DataType
  /** Total digits and digits after the point. Only for DECIMAL. */
  precision?: number
  scale?: number
  primaryKey?: boolean
  evidence?: TypeEvidence
}

/**
 * Why a column has its type. Absent: the values or the source determine it. NOTHING: the column had no value.
 * AMBIGUOUS: day and month could be swapped. REQUESTED: the settings specify it.
 */
export type TypeEvidence = 'NOTHING' | 'AMBIGUOUS' | 'REQUESTED'

/** Statistics of a column's values, known after all rows were read. */
export interface ColumnFacts {
  column: string
  evidence?: TypeEvidence
  /** True if days come before months in the values, false for the reverse. Absent until a value proves it. */
  dayFirst?: boolean
  /**
   * The format in which the source prints all values, such as `DD.MM.YYYY` or `0,00`. Absent if they have several
   * formats.
   */
  sourceFormat?: string
}

/** The stored type of a column. It is wider than the source's type if the table already had a wider type. */
export type StoredType = Pick<Column, 'dataType' | 'precision' | 'scale'>

/** A chunk of complete rows in PostgreSQL's binary COPY format, without its header and trailer. */
export interface TupleChunk {
  bytes: Uint8Array
  /** Call it once after the last use of the bytes, so that their memory can be reused. */
  release?(): void
}

/** A frequent value of a column. A longer value is truncated to 64 bytes; `bytes` is then its full length. */
export interface FrequentValue {
  value: string
  bytes?: number
  /**
   * The number of rows with the value. It is an estimate if `atLeast`, a lower bound, is set; otherwise it is exact.
   */
  rows: number
  atLeast?: number
}

/**
 * The profile (statistics) of one column. Nulls, minimum, maximum and lengths are exact. `min`, `max` and frequent
 * values are formatted as PostgreSQL prints them, truncated to 64 bytes. Texts are compared by their bytes. Fields that
 * do not apply to the type are absent: JSONB has only nulls and distinct values, and only numbers and times have a
 * histogram.
 */
export interface ColumnProfile {
  column: string
  nulls: number
  distinct: number
  /** Set if `distinct` is an estimate, with a standard error of 3.3 %. */
  isEstimate?: true
  min?: string
  max?: string
  /** The full lengths in bytes of the minimum and maximum, if these are truncated. */
  minBytes?: number
  maxBytes?: number
  /** The number of characters in the shortest and the longest text. */
  minLength?: number
  maxLength?: number
  /** The number of values that are infinite or NaN. The histogram leaves them out. */
  notFinite?: number
  /** At most ten values, the most frequent first. */
  frequentValues?: FrequentValue[]
  /**
   * Buckets of equal width. Bucket `i` contains the values from `bounds[i]` to below `bounds[i + 1]`; the last bucket
   * includes both bounds.
   */
  histogram?: { bounds: string[]; rows: number[] }
  /**
   * The number of rows in the random sample from which frequent values and histogram are estimated. Absent if both are
   * exact.
   */
  sampledRows?: number
}

/**
 * Rows in binary COPY format, the interchange format that every warehouse accepts. Each chunk contains complete rows,
 * so chunks may be sent over several connections. `rows` receives the stored type of each column, in the order of the
 * columns. The consumer may call `rows` again after `TypesWidened`; the rows then start again from the first one.
 */
export interface RowContent {
  format: 'copy-binary'
  rows(types: readonly StoredType[]): AsyncIterable<TupleChunk>
  /** The size of the source in bytes, if known or estimated. */
  size?: number
  /**
   * Returns statistics of each column's values. Call it after `rows` has ended. Absent if the source knows its types.
   */
  facts?(): ColumnFacts[]
  /** Returns JSON state that the source receives at the next load. Call it after `rows` has ended. */
  reading?(): unknown
}

/** One table of a source: its columns, then its rows as bytes that a warehouse can load. */
export interface RowStream {
  /** The table's name. Empty for a source with a single table, which fills the pipeline's own target table. */
  table: string
  columns: Column[]
  /** True if the source leaves out columns without a value in any record. */
  sparse?: boolean
  /**
   * A sentence about rows of the source that were not read although no setting excludes them, such as those of a sheet.
   */
  unread?: string
  content: RowContent
  /**
   * Returns the cursor for the next increment, as JSON. Call it after all rows. It is stored in the same transaction as
   * the rows.
   */
  cursor?(): unknown
  /**
   * Set if each row is a child row of a record in another row stream, such as a member of a household. `column`
   * contains the id of the parent record: the values of its `keys`, joined by `/`. An increment contains all child
   * rows of each parent record that it contains.
   */
  parentRecords?: { table: string; keys: readonly string[]; column: string }
  /**
   * The column with the name of the file, or another part of the source, from which a row comes. Appended rows replace
   * the existing rows with the same value in this column.
   */
  replaceByColumn?: string
  /**
   * If rows are merged by a key of the pipeline and several of them have the same key, only the row with the greatest
   * values in these columns is loaded. Rows with equal values are duplicates, which the warehouse refuses.
   */
  precedence?: readonly string[]
  /** Set if the rows are not data of the source, but list the other tables of the run. */
  listsTables?: true
  /**
   * The column that marks deleted rows, by its name in the warehouse. An increment deletes the rows with the keys that
   * it marks: true, a number other than 0, or a date.
   */
  deletedColumn?: string
  /** Called for an increment after all rows. Returns true if the rows are the complete table and must replace it. */
  whole?(): boolean
}

/**
 * The recorded columns of the last load that a source uses. The type has the same structure as the warehouse's
 * `SourceShape`, so that neither module imports the other.
 */
export interface PreviousSourceColumns {
  columns: readonly {
    name: string
    label: string
    dataType: DataType
    vanished?: true
    dayFirst?: boolean
    sourceFormat?: string
  }[]
  /** The JSON that `RowContent.reading` returned at the last load. */
  reading?: unknown
}

/**
 * Thrown by `rows` if values do not fit the inferred column types. `columns` have types that fit every row, with the
 * same names in the same order. The consumer discards the loaded rows and calls `rows` again.
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
  /** The physical line number of the record's start, from 1, as an editor counts lines. */
  line: number
  /** The label of the faulty column, if it is a single column. */
  column?: string
  reason: string
  /** The record as written in the source, truncated to 4 KB. */
  raw: string
}

/** Receives the progress of reading a source. Counts are totals since the start, so a lost call does no harm. */
export interface ReadReporter {
  progress(totals: { bytesRead?: number; bytesTotal?: number; rowsRead?: number }): void
  reject(row: RejectedRow): void
  /** Counts further rejected rows, after `maxKeptRejects` rows were passed on. */
  rejectMore(count: number): void
  /**
   * Called if an increment was requested but everything is read. `reason` is a sentence for users, which the receiver
   * logs.
   */
  readsEverything?(reason: string): void
  /**
   * Called if the source has nothing that the table does not have. `why` is the reason as a sentence for users. The run
   * gets the status WARNING.
   */
  nothingNew?(why: string): void
  /** Adds a sentence, with advice, to the log and to the final message of the run. Does not change the run's status. */
  hint?(sentence: string, advice: ReaderAdvice): void
  /** Resets counts and rejected rows, because the source is read again from the start. */
  startOver(): Promise<void>
  log(level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR', importance: 'LOW' | 'MEDIUM' | 'HIGH', message: string): void
}

/** Ignores all reports. */
export const silentReporter: ReadReporter = {
  progress: () => {},
  reject: () => {},
  rejectMore: () => {},
  startOver: async () => {},
  log: () => {},
}

/**
 * A source of data. Does not depend on warehouses, runs or schedules. Throws `SourceProblem` for problems that a user
 * can fix; any other error is a bug.
 */
export interface DataSource<Config> {
  read(config: Config, report: ReadReporter, signal: AbortSignal): AsyncIterable<RowStream>
}

/** Returns the columns that the last load had, with the evidence NOTHING, as for columns without values. */
export function columnsOfPreviousLoad(previousShape: PreviousSourceColumns | undefined): Column[] {
  const loadedColumns = (previousShape?.columns ?? []).filter(({ vanished }) => !vanished)
  return loadedColumns.map(({ name, label, dataType }) => ({ name, label, dataType, evidence: 'NOTHING' }))
}

export const emptyRowStream = (table: string, columns: Column[]): RowStream => ({
  table,
  columns,
  sparse: true,
  content: { format: 'copy-binary', rows: async function* () {}, size: 0 },
})
