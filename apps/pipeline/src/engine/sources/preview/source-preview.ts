import type { CsvGuesses } from '@sluice/contracts'
import type { FoundSheet } from '../files/excel/choose-sheet.ts'
import type { FeedColumn, RejectedRow } from '../source.ts'

/** Strings for what JavaScript cannot hold exactly: BIGINT, DECIMAL, days and moments. */
export type PreviewCell = string | number | boolean | null | object

/** The first rows of a source, and how it is understood. */
export interface SourcePreview {
  columns: FeedColumn[]
  rows: PreviewCell[][]
  /** Rows among them that would be set aside. */
  rejected: RejectedRow[]
  /** In sentences. */
  notes: string[]
  /** Whether these are all rows that there are. */
  complete: boolean
  /** Whether types and evidence of the columns are those of all rows. */
  typesKnown?: true
  /** The columns are only those that at least one record has. */
  sparse?: true
  /** Why a load would fail. Set if all rows were read and too many of them do not fit. */
  tooManyRejected?: string
  /** How many of the rows at the beginning of a larger file do not fit, if nearly all of them do not. */
  likelyRejected?: string
  /** A sentence about sheets with rows that a load would not read. */
  unread?: string
  csvGuesses?: CsvGuesses
  sheets?: FoundSheet[]
}
