import type { WriteMode } from '@sluice/contracts'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import type { OutgoingAllowList, RetryPolicy } from '@sluice/http-client'
import type { ReadReporter, RememberedFeed, RowStream } from '@sluice/row-stream'

/** Passwords and tokens of a source, by the name of the secret field. */
export type SourceSecrets = Readonly<Record<string, string>>

/** The settings that a process provides to all its connectors. */
export interface ConnectorContext {
  /** The directory of uploaded files, and of the spool for downloads that are not loaded yet. */
  filesDirectory: string
  /** Addresses in the private network that the operator allows users to reach. */
  allowed: OutgoingAllowList
  /** Replaces the default retry policy. */
  retryPolicy?: RetryPolicy
}

/** The source to read, and what to read from it. */
export interface ReadRequest {
  type: string
  settings: unknown
  /** Decrypted secrets. */
  secrets: SourceSecrets
  /** The input of the run, such as a reference to its uploaded file. */
  input: unknown
  /** INCREMENTAL requests only the changes; FULL requests everything and is the default. */
  mode?: 'FULL' | 'INCREMENTAL'
  /**
   * The mode in which the rows will be written; REPLACE is the default. A source that recognises its files or objects returns only those for APPEND and
   * MERGE that no earlier read has returned in this version.
   */
  writeMode?: WriteMode
  /** The name of the pipeline's own table. If a pipeline fills more tables, their names start with this one. */
  table?: string
  /** The cursor that the previous read stored with its rows. */
  cursor?: unknown
  /** Set if a user reset the cursor. The source then reads everything, or the changes since `from`. */
  reset?: { from?: string | undefined } | undefined
  /** Column types and formats that the last load of the table used. Absent if the load must detect them again. */
  remembered?: RememberedFeed
  /** For `listOptions`: a part of the option's name. The caller filters the result too, because not every source can search. */
  query?: string | undefined
  /** For `listOptions`: the id of the parent of the options, such as a project. The default is the parent in the settings. */
  within?: string | undefined
}

/** A value that a user can select for a setting. If the option is a table, `code` is its schema. */
export interface SourceOption {
  id: string
  code: string
  name: string
}

/**
 * A kind of source. It does not depend on warehouses, runs or schedules. All operations throw `SourceProblem` for problems that
 * a user can fix, and the reason of the signal after an abort.
 */
export interface Connector {
  /** Yields each table once. Reading starts when the caller requests the first table. */
  read(request: ReadRequest, report: ReadReporter, signal: AbortSignal): AsyncIterable<RowStream>
  /**
   * Returns whether the source can continue from the request's cursor. If so, the caller merges the rows by primary key. The
   * method is absent for a source that always reads everything.
   */
  canReadIncrement?(request: ReadRequest): Promise<boolean>
  /** Returns whether cursors are timestamps or opaque values. NONE, or an absent method, means that the source has no cursors. */
  getCursorKind?(settings: unknown): Promise<'MOMENT' | 'OPAQUE' | 'NONE'>
  /** Sends a small request that needs the credentials. The method is absent if the source has no connection to test. */
  testConnection?(request: ReadRequest, signal: AbortSignal): Promise<void>
  /** Lists the options of a setting in display order. Returns undefined for an unknown kind. The method is absent if no setting has options. */
  listOptions?(kind: string, request: ReadRequest, signal: AbortSignal): Promise<SourceOption[] | undefined>
  /** Returns the first rows. If the method is absent, a preview calls `read` and stops after these rows. */
  preview?(request: ReadRequest, rows: number, signal: AbortSignal): Promise<SourcePreview>
}
