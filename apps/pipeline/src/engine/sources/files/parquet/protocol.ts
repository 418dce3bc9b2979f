import type { ProblemMessage } from '../../reading-thread.ts'
import type { FeedColumn, RejectedRow, StoredType } from '../../source.ts'
import type { ParquetLimits } from './limits.ts'
import type { MeasuredColumn } from './measure.ts'

export interface ParquetJob {
  /** Or a descriptor, which stays the property of whoever opened it. */
  path: string | number
  fileName: string
  limits: ParquetLimits
}

/** What the thread is told: begin to read all rows, send one chunk more, and here is memory to use again. */
export type ParquetCommand =
  | { kind: 'encode'; types: readonly StoredType[] }
  | { kind: 'more' }
  | { kind: 'memory'; memory: ArrayBuffer }

/** Counts ready to be reported. */
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

/** What the thread says. The memory of a chunk is handed over with it. */
export type ParquetMessage =
  | InspectedFile
  | { kind: 'progress'; totals: ParquetTotals }
  | { kind: 'chunk'; memory: ArrayBuffer; length: number }
  | { kind: 'rejected'; rows: RejectedRow[] }
  /** All is to be read anew: this column holds bytes that are no text, and comes in hex from now on. */
  | { kind: 'widened'; label: string }
  /** Columns in which digits finer than a microsecond were cut off, in how many values; and what each column holds. */
  | { kind: 'done'; cuts: { label: string; values: number }[]; measured: MeasuredColumn[] }
  | ProblemMessage
