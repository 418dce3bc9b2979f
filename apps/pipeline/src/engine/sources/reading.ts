import type { SourceSecrets } from '../../source-secrets.ts'
import type { SourceTable } from './database-tables.ts'
import type { SourcePreview } from './preview/source-preview.ts'
import type { Feed, Report } from './source.ts'

/** What is to be read: a pipeline's type and settings, its secrets opened, and the run's input as it was when the run was asked for. */
export interface Reading {
  type: string
  settings: unknown
  secrets: SourceSecrets
  input: unknown
  /** INCREMENTAL asks for what is new; FULL, and absent, for everything. */
  mode?: 'FULL' | 'INCREMENTAL'
}

/** One type of pipeline as a source. Each throws `SourceProblem` for what a person can mend. */
export interface SourceKind {
  /** Nothing is read before the first feed is asked for. */
  read(reading: Reading, report: Report, signal: AbortSignal): AsyncIterable<Feed>
  /** Whether it can tell what is new. One that cannot reads everything at each run. */
  increments?: boolean
  /** Whether the source can be reached, signed in to, and asked. Absent where there is nothing to reach. */
  test?(reading: Reading, signal: AbortSignal): Promise<void>
  /** What there is to choose from, by kind. Absent, or undefined, where there is no such kind. */
  lookup?(kind: string, reading: Reading, signal: AbortSignal): Promise<SourceTable[]> | undefined
  /** The first rows; where it is absent, they are read as a load reads them. */
  preview?(reading: Reading, rows: number, signal: AbortSignal): Promise<SourcePreview>
}
