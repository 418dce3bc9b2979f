import type { UploadFormat } from './detect-format.ts'
import type { UploadOptions, WrittenDialect } from './upload-options.ts'
import type { UploadLimits } from '../spool/upload-limits.ts'

/** A job for a conversion thread. The sender of the job closes all descriptors. */
export interface ConversionJob {
  /** The name of the upload in messages. */
  name: string
  /** The descriptor of the upload, and its size in bytes. */
  source: number
  size: number
  /** The descriptor of the spool file (temporary file) for the converted rows. */
  spool: number
  /** The descriptor of the file for the first rejected rows, one JSON text per line. */
  rejects: number
  /** The directory for the thread's temporary files. */
  directory: string
  options: UploadOptions
  /** The number of bytes of rows after which the conversion may stop. Absent: all rows are converted. */
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

/** Describes the spool file of a job after the conversion. */
export interface ConvertedFile {
  format: UploadFormat
  size: number
  /** Descriptions of the formats that were found, outermost first, such as `gzip` and `UTF-16LE text`. */
  formats: string[]
  dialect?: WrittenDialect
  sheets?: FoundSheet[]
  /** True if only columns that occur in some record are present. */
  sparse?: boolean
  complete: boolean
  /** The number of rejected rows, including those that are not stored. */
  rejected: number
  /** The number of rows in the spool file, possibly including its header. Absent if they were not counted. */
  written?: number
}

export interface ConversionResult {
  file: ConvertedFile
  /** The memory of the thread after the job, including unused objects. It is freed when the thread ends. */
  memoryBytes: number
}
