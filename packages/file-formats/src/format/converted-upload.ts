import type { UploadFormat } from './detect-format.ts'
import type { UploadOptions, WrittenDialect } from './upload-options.ts'
import type { UploadLimits } from '../spool/upload-limits.ts'

/** The job with which a conversion thread starts. The sender keeps ownership of all descriptors. */
export interface NormaliseJob {
  name: string
  source: number
  size: number
  spool: number
  /** The descriptor of the file for the first rejected rows, one JSON text per line. */
  rejects: number
  /** The directory for the thread's temporary files. */
  directory: string
  options: UploadOptions
  /** The number of bytes of rows that are needed from the start. Absent: all. */
  firstBytes?: number
  /** The only accepted format. Another format is rejected as soon as it is recognised. */
  expectedFormat?: UploadFormat
  limits: UploadLimits
}

/** A sheet of a workbook, as users select it. */
export interface FoundSheet {
  /** The position among the sheets with cells, from 1, including hidden sheets. */
  number: number
  name: string
  isHidden: boolean
  hasRows: boolean
  isRead: boolean
}

export interface NormalisedFile {
  format: UploadFormat
  size: number
  /** The formats that were found, outermost first, as text. */
  notices: string[]
  dialect?: WrittenDialect
  sheets?: FoundSheet[]
  /** True if only columns that occur in some record are present. */
  sparse?: boolean
  complete: boolean
  /** The number of rejected rows, including those that are not stored. */
  rejected: number
  /**
   * The number of rows in the spool file (temporary file), possibly including its header. Absent if they were not
   * counted.
   */
  written?: number
}

/** The result of the job. */
export interface NormaliseResult {
  file: NormalisedFile
  /** Bytes that the thread holds, unused objects included. They are freed when it ends. */
  heldBytes: number
}
