import type { ProblemMessage, FeedColumn, RejectedRow, StoredType } from '@sluice/row-stream'
import type { ParquetLimits } from './limits.ts'
import type { MeasuredColumn } from './measure.ts'

export interface ParquetJob {
  /** A path, or a descriptor, which its opener closes. */
  path: string | number
  fileName: string
  limits: ParquetLimits
}

/** Commands to the thread: read all rows, send one more chunk, and reuse this memory. */
export type ParquetCommand =
  | { kind: 'encode'; types: readonly StoredType[] }
  | { kind: 'more' }
  | { kind: 'memory'; memory: ArrayBuffer }

/** Reportable counts. */
export interface ParquetTotals {
  bytesRead: number
  bytesTotal: number
  rowsRead: number
}

export interface InspectedFile {
  kind: 'inspected'
  columns: FeedColumn[]
  size: number
  rows: number
  rowGroups: number
  codecs: string[]
  writer: string
}

/** Messages of the thread. A chunk message transfers the memory of the chunk. */
export type ParquetMessage =
  | InspectedFile
  | { kind: 'progress'; totals: ParquetTotals }
  | { kind: 'chunk'; memory: ArrayBuffer; length: number }
  | { kind: 'rejected'; rows: RejectedRow[] }
  /** The file must be read again: this column holds bytes that are not text, and is read as hex from now on. */
  | { kind: 'widened'; label: string }
  /** The columns in which digits finer than a microsecond were cut off, with the number of values; and the profile of each column. */
  | { kind: 'done'; cuts: { label: string; values: number }[]; measured: MeasuredColumn[] }
  | ProblemMessage
