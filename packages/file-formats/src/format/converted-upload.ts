import type { UploadFormat } from './detect-format.ts'
import type { UploadOptions, WrittenDialect } from './upload-options.ts'
import type { UploadLimits } from '../spool/upload-limits.ts'

/** The job that starts the thread. The sender keeps ownership of all descriptors. */
export interface NormaliseJob {
  name: string
  source: number
  size: number
  spool: number
  /** The descriptor for the first rejected rows, one JSON text per line. */
  rejects: number
  /** The directory for the thread's temporary files. */
  directory: string
  options: UploadOptions
  /** Only this many bytes of the rows are needed, from the start. */
  firstBytes?: number
  /** The only accepted format; another one is refused as soon as it is recognised. */
  expectedFormat?: UploadFormat
  limits: UploadLimits
}

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
  notices: string[]
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

/** The result of the job. */
export interface NormaliseResult {
  file: NormalisedFile
  /** Bytes that the thread holds, unused objects included. They are freed when it ends. */
  heldBytes: number
}
