import type { UploadFormat } from './assert-format.ts'
import type { WrittenDialect } from './upload-options.ts'

/** A sheet of a workbook, as users choose it. */
export interface FoundSheet {
  /** Its position among the sheets with cells, from 1, including hidden sheets. */
  number: number
  name: string
  isHidden: boolean
  hasRows: boolean
  isRead: boolean
}

export interface NormalisedFile {
  format: UploadFormat
  size: number
  /** The formats found, outermost first, as text. */
  found: string[]
  dialect?: WrittenDialect
  sheets?: FoundSheet[]
  /** Whether only columns that occur in some record are present. */
  sparse?: boolean
  complete: boolean
  /** Number of rejected rows, including those that are not stored. */
  rejected: number
  /** Number of rows in the spool, possibly including its header; absent if they were not counted. */
  written?: number
}
