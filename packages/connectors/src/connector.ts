import type { RememberedFeed } from '@sluice/row-stream'
import type { SourcePreview } from '@sluice/file-formats/preview/source-preview'
import type { RowStream, LoadReport } from '@sluice/row-stream'

/** Passwords and tokens of a source, by name. */
export type SourceSecrets = Readonly<Record<string, string>>

/** One reading of a source: a pipeline's type and settings, its decrypted secrets, and the run's input at the time of the request. */
export interface ReadRequest {
  type: string
  settings: unknown
  secrets: SourceSecrets
  input: unknown
  /** INCREMENTAL requests the changes; FULL, or absent, requests everything. */
  mode?: 'FULL' | 'INCREMENTAL'
  /** The pipeline's own table. The names of further tables that the pipeline fills derive from it. */
  table?: string
  /** The state that the last reading stored with its rows: `cursor` of the pipeline's own feed. */
  cursor?: unknown
  /** Set if a user reset the cursor: the source reads everything, or the changes since `from`. */
  reset?: { from?: string | undefined } | undefined
  /** The memory of the table's last load; absent if it must be ignored. */
  remembered?: RememberedFeed
  /** The search text of a look-up, for sources that can search. The result is filtered in any case. */
  query?: string | undefined
  /** The parent of a look-up, such as a project. The settings can contain it instead. */
  within?: string | undefined
}

/** A selectable item of a source. For a table, the code is its schema. */
export interface SourceOption {
  id: string
  code: string
  name: string
}

/** The source of one type of pipeline. All operations throw `SourceProblem` for problems that a user can fix. */
export interface Connector {
  /** Reads the feeds. Reading starts with the request for the first feed. */
  read(reading: ReadRequest, report: LoadReport, signal: AbortSignal): AsyncIterable<RowStream>
  /**
   * Whether the source can continue from the reading's cursor: the rows of mode INCREMENTAL are then merged by primary
   * key. Absent for a source that never can; such a source reads everything at each run.
   */
  canReadIncrement?(reading: ReadRequest): Promise<boolean>
  /** The kind of cursors: timestamps, or opaque values. NONE, or absent, if the source has no cursor. */
  getCursorKind?(): Promise<'MOMENT' | 'OPAQUE' | 'NONE'>
  /** Tests the connection. Absent if the source has no connection to test. */
  testConnection?(reading: ReadRequest, signal: AbortSignal): Promise<void>
  /** Lists the choices of a kind in display order. Absent if the source has no kinds; returns undefined for an unknown kind. */
  listOptions?(kind: string, reading: ReadRequest, signal: AbortSignal): Promise<SourceOption[] | undefined>
  /** Returns the first rows. If absent, a preview reads them as a load does. */
  preview?(reading: ReadRequest, rows: number, signal: AbortSignal): Promise<SourcePreview>
}
