import type { DataType } from '@sluice/contracts'
import type { SourceSecrets } from '../../sealed-secrets.ts'
import type { SourcePreview } from './preview/source-preview.ts'
import type { SourceFeed, LoadReport } from './source.ts'

/** What is to be read: a pipeline's type and settings, its secrets opened, and the run's input as it was when the run was asked for. */
export interface SourceReading {
  type: string
  settings: unknown
  secrets: SourceSecrets
  input: unknown
  /** INCREMENTAL asks for what is new; FULL, and absent, for everything. */
  mode?: 'FULL' | 'INCREMENTAL'
  /** The pipeline's own table, which others that it fills are called by. */
  table?: string
  /** What the last reading kept with its rows: `cursor` of the pipeline's own feed. */
  cursor?: unknown
  /** Set where somebody reset the cursor: everything is read, or what has changed since `from`. */
  reset?: { from?: string | undefined } | undefined
  /** The memory of the table's last load; absent if it must be ignored. */
  remembered?: RememberedFeed
  /** The search text of a look-up, for sources that can search. The result is filtered in any case. */
  query?: string | undefined
  /** The parent of a look-up, such as a project. The settings can contain it instead. */
  within?: string | undefined
}

/** The part of the last load's memory that sources use. Same structure as the warehouse's type, so that neither module imports the other. */
export interface RememberedFeed {
  columns: readonly { name: string; label: string; dataType: DataType; vanished?: true; dayFirst?: boolean }[]
  /** `BinaryContent.reading` of that load. */
  reading?: unknown
}

/** Something that a source has, to be chosen. Of a table, the code is its schema. */
export interface SourceChoice {
  id: string
  code: string
  name: string
}

/** One type of pipeline as a source. Each throws `SourceProblem` for what a person can mend. */
export interface SourceKind {
  /** Nothing is read before the first feed is asked for. */
  read(reading: SourceReading, report: LoadReport, signal: AbortSignal): AsyncIterable<SourceFeed>
  /**
   * Whether it can go on from the reading's cursor: then what it gives in mode INCREMENTAL is merged by primary key. One that never can is
   * without this, and reads everything at each run.
   */
  increments?(reading: SourceReading): Promise<boolean>
  /** The kind of cursors: timestamps, or opaque values. NONE, and absent, if there are none. */
  cursor?(): Promise<'MOMENT' | 'OPAQUE' | 'NONE'>
  /** Tests the connection. Absent if there is none. */
  test?(reading: SourceReading, signal: AbortSignal): Promise<void>
  /** Lists the choices of a kind in display order. Absent, or undefined, for an unknown kind. */
  lookup?(kind: string, reading: SourceReading, signal: AbortSignal): Promise<SourceChoice[] | undefined>
  /** The first rows; where it is absent, they are read as a load reads them. */
  preview?(reading: SourceReading, rows: number, signal: AbortSignal): Promise<SourcePreview>
}
