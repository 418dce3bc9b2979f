import type { ProblemMessage } from '../../reading-thread.ts'
import type { FoundSheet } from '../excel/choose-sheet.ts'
import type { UploadOptions, WrittenDialect } from '../upload.ts'
import type { UploadFormat } from '../assert-format.ts'
import type { UploadLimits } from './limits.ts'

/** What the thread is started with. All descriptors stay the property of whoever started it. */
export interface NormaliseJob {
  name: string
  source: number
  size: number
  spool: number
  /** Where the first rejected rows go, one JSON text a line. */
  rejects: number
  /** Where the thread makes files of its own. */
  directory: string
  options: UploadOptions
  /** Only so many bytes of the rows are needed, from the start. */
  firstBytes?: number
  /** Where it is something else, it is refused as soon as it is recognised. */
  wanted?: UploadFormat
  limits: UploadLimits
}

export interface NormalisedFile {
  format: UploadFormat
  size: number
  /** What was found, outermost first, in words. */
  found: string[]
  dialect?: WrittenDialect
  sheets?: FoundSheet[]
  /** Its columns are those that some record has. */
  sparse?: boolean
  complete: boolean
  /** Rows that were set aside, whether or not they are kept. */
  rejected: number
  /** Rows in the spool, its header perhaps among them, where they were counted. */
  written?: number
}

export type NormaliseMessage =
  | { kind: 'progress'; bytes: number }
  | { kind: 'done'; normalised: NormalisedFile }
  | ProblemMessage
