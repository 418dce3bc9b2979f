import type { ProblemMessage } from '@sluice/row-stream'
import type { FoundSheet } from '../excel/choose-sheet.ts'
import type { UploadOptions, WrittenDialect } from './upload.ts'
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

export type NormaliseMessage =
  | { kind: 'progress'; bytes: number }
  | { kind: 'done'; normalised: NormalisedFile }
  | ProblemMessage
