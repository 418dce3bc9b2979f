import type { UploadOptions } from './upload-options.ts'
import type { UploadFormat } from './assert-format.ts'
import type { UploadLimits } from '../spool/limits.ts'

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
  wanted?: UploadFormat
  limits: UploadLimits
}
