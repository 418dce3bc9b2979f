import type { WriteMode } from '@sluice/contracts'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import type { OutgoingAllowList, RetryPolicy } from '@sluice/http-client'
import type { ReadReporter, PreviousSourceColumns, RowStream } from '@sluice/row-stream'

/** Passwords and tokens of a source, by the name of the secret field. */
export type SourceSecrets = Readonly<Record<string, string>>

/** Settings of the process that apply to all its connectors. */
export interface ConnectorContext {
  /** The directory for uploaded files and for the spool (temporary files of downloads that are not loaded yet). */
  filesDirectory: string
  /** Addresses in private networks that the operator allows users to reach. */
  allowed: OutgoingAllowList
  /** Replaces the default retry policy. */
  retryPolicy?: RetryPolicy
  /** The heap limit in megabytes of a thread that reads an HTTP system. Default: 768. */
  threadHeapMegabytes?: number
}

/** The source to read, and which part of it. */
export interface ReadRequest {
  type: string
  settings: unknown
  /** Decrypted secrets. */
  secrets: SourceSecrets
  /** The input of the run, such as a reference to its uploaded file. */
  input: unknown
  /** INCREMENTAL requests only changes since the last read. FULL (default) requests everything. */
  mode?: 'FULL' | 'INCREMENTAL'
  /**
   * The mode in which the rows will be written. Default: REPLACE. For APPEND and MERGE, a source that recognises its
   * files or objects returns only those that no earlier read has returned in their current version.
   */
  writeMode?: WriteMode
  /** The name of the pipeline's own table. If a pipeline fills further tables, their names start with this name. */
  table?: string
  /** The cursor (position in the source) that the previous read stored with its rows. */
  cursor?: unknown
  /** Set if a user reset the cursor. The source then reads everything, or the changes since `from`. */
  reset?: { from?: string | undefined } | undefined
  /** The column types and formats that the table's last load used. Absent if the load must detect them again. */
  previousShape?: PreviousSourceColumns
  /**
   * For `listOptions`: a part of the option's name to search for. The caller filters the result too, because not every
   * source can search.
   */
  query?: string | undefined
  /** For `listOptions`: the id of the options' parent, such as a project. Default: the parent in the settings. */
  within?: string | undefined
}

/**
 * A value that a user can select for a setting. If the option is a table, `code` is its schema; if it is a column,
 * `code` is its type.
 */
export interface SourceOption {
  id: string
  code: string
  name: string
}

/** Rows of a read that have the same key, or no value in a column of the key. */
export interface KeyRows {
  /** The columns of the key: their names in the warehouse, or their labels. */
  keys: readonly string[]
  /** The values of the key as the warehouse prints them. Absent for the rows that lack one. */
  values?: readonly string[]
  /** The number of rows, if it is known. */
  rows?: number
  /** The values that the rows have in the columns of `RowStream.precedence`, if they are known. */
  precedence?: ReadonlyMap<string, string>
}

/**
 * Reads one kind of source. Does not depend on warehouses, runs or schedules. All operations throw `SourceProblem` for
 * problems that a user can fix, and the signal's reason after an abort.
 */
export interface Connector {
  /** Yields the row stream of each table once. Reading starts when the caller requests the first table. */
  read(request: ReadRequest, report: ReadReporter, signal: AbortSignal): AsyncIterable<RowStream>
  /**
   * Returns true if the source can continue from the request's cursor. The caller then merges the rows by primary key.
   * Absent for a source that always reads everything.
   */
  canReadIncrement?(request: ReadRequest): Promise<boolean>
  /**
   * Returns the kind of cursors: MOMENT for timestamps, OPAQUE for other values, NONE if the source has no cursors.
   * Absence also means NONE.
   */
  getCursorKind?(settings: unknown): Promise<'MOMENT' | 'OPAQUE' | 'NONE'>
  /**
   * Tests the connection with a small request that needs the credentials. Absent if the source has no connection to
   * test.
   */
  testConnection?(request: ReadRequest, signal: AbortSignal): Promise<void>
  /**
   * Lists the options of a setting in display order. Returns undefined for an unknown kind of option. Absent if no
   * setting has options.
   */
  listOptions?(kind: string, request: ReadRequest, signal: AbortSignal): Promise<SourceOption[] | undefined>
  /** Returns the first rows. If absent, a preview calls `read` and stops after these rows. */
  preview?(request: ReadRequest, rows: number, signal: AbortSignal): Promise<SourcePreview>
  /**
   * Reads a file again and returns the positions of the rows: `lines 3 and 6 of cases.csv`. Returns undefined if it does
   * not find them. Absent for a source that is not a file.
   */
  describeKeyRows?(request: ReadRequest, keyRows: KeyRows, signal: AbortSignal): Promise<string | undefined>
}
