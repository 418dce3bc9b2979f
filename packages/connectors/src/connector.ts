import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import type { OutgoingAllowList, RetryPolicy } from '@sluice/http-client'
import type { LoadReport, RememberedFeed, RowStream } from '@sluice/row-stream'

/** Passwords and tokens of a source, by name. */
export type SourceSecrets = Readonly<Record<string, string>>

/** The environment of all connectors of a process. */
export interface ConnectorContext {
  /** Directory of uploaded files and of the spool, which holds downloads until they are loaded. */
  filesDirectory: string
  /** Addresses inside the network that the operator allows users to reach. */
  allowed: OutgoingAllowList
  /** Replaces the policy of runs. */
  retryPolicy?: RetryPolicy
}

/** A source, and what is to be read from it. */
export interface ReadRequest {
  type: string
  settings: unknown
  /** Decrypted. */
  secrets: SourceSecrets
  /** The input of the run, such as its uploaded file. */
  input: unknown
  /** INCREMENTAL requests the changes; FULL, or absent, requests everything. */
  mode?: 'FULL' | 'INCREMENTAL'
  /** The pipeline's own table. The names of further tables that the pipeline fills derive from it. */
  table?: string
  /** The state that the last read stored with its rows: `cursor` of the pipeline's own stream. */
  cursor?: unknown
  /** Set if a user reset the cursor: the source reads everything, or the changes since `from`. */
  reset?: { from?: string | undefined } | undefined
  /** The memory of the table's last load; absent if it must be ignored. */
  remembered?: RememberedFeed
  /** For `listOptions`: part of the name. Sources that cannot search ignore it, so the caller filters as well. */
  query?: string | undefined
  /** For `listOptions`: the parent of the options, such as a project. The settings can contain it instead. */
  within?: string | undefined
}

/** A value that a user can select for a setting. For a table, the code is its schema. */
export interface SourceOption {
  id: string
  code: string
  name: string
}

/**
 * One kind of source. It knows nothing of warehouses, runs or schedules. All operations throw `SourceProblem` for problems
 * that a user can fix, or the signal's reason.
 */
export interface Connector {
  /** Yields each table once. Reading starts with the request for the first stream. */
  read(request: ReadRequest, report: LoadReport, signal: AbortSignal): AsyncIterable<RowStream>
  /**
   * Whether the source can continue from the request's cursor: the rows of mode INCREMENTAL are then merged by primary
   * key. Absent for a source that never can; such a source reads everything at each run.
   */
  canReadIncrement?(request: ReadRequest): Promise<boolean>
  /** The kind of cursors: timestamps, or opaque values. NONE, or absent, if the source has no cursor. */
  getCursorKind?(): Promise<'MOMENT' | 'OPAQUE' | 'NONE'>
  /** Sends a small request that needs the credentials. Absent if the source has no connection to test. */
  testConnection?(request: ReadRequest, signal: AbortSignal): Promise<void>
  /** Lists the options of a setting in display order; undefined for an unknown kind. Absent if no setting has options. */
  listOptions?(kind: string, request: ReadRequest, signal: AbortSignal): Promise<SourceOption[] | undefined>
  /** Returns the first rows. If absent, a preview reads them as a load does. */
  preview?(request: ReadRequest, rows: number, signal: AbortSignal): Promise<SourcePreview>
}
