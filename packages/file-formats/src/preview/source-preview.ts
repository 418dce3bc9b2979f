import type { PreviewCell } from '../cells/read-tuples.ts'
import type { CsvGuesses } from '@sluice/contracts'
import type { FoundSheet } from '../format/conversion-job.ts'
import type { Column, ColumnFacts, RejectedRow } from '@sluice/row-stream'

export type { PreviewCell }

/** A column, and the format in which the file prints all values of the previewed rows. */
export type PreviewedColumn = Column & Pick<ColumnFacts, 'sourceFormat'>

/** The first rows of a source, and its detected structure. */
export interface SourcePreview {
  columns: PreviewedColumn[]
  rows: PreviewCell[][]
  /** The line of the file on which each row begins, counted from 1. Absent for sources without lines. */
  lines?: number[]
  /** Rejected rows among the rows that were read, up to a maximum number. */
  rejected: RejectedRow[]
  /** Notes for users, as sentences. */
  notes: string[]
  /** True if the preview contains all rows of the source. */
  complete: boolean
  /** Set if the types and evidence of the columns come from all rows. */
  typesKnown?: true
  /** Set if only columns that occur in some record are present. */
  sparse?: true
  /** The reason why a load would fail. Set if all rows were read and too many of them do not fit. */
  tooManyRejected?: string
  /**
   * A sentence with the number of rows that do not fit. Set if nearly all rows at the start of a larger file do not
   * fit.
   */
  likelyRejected?: string
  /** A sentence about sheets with rows that a load would not read. */
  unread?: string
  csvGuesses?: CsvGuesses
  sheets?: FoundSheet[]
}
