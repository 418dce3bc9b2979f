import type { RetryPolicy } from '@sluice/http-client'
import type { ProblemMessage, ReadReporter, RejectedRow } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'
import type { SpooledSystem } from '../http-connector/spool-http-system.ts'
import type { SystemReference } from './connector-modules.ts'

/** The records to read. Only this object contains the credentials; messages never do. */
export interface SystemJob {
  system: SystemReference
  request: ReadRequest
  filesDirectory: string
  /** The entries of the operator's list of allowed addresses. */
  allowed: readonly string[]
  retryPolicy?: RetryPolicy | undefined
}

/** The `workerData` of a thread, and the message with its next job. A thread without a job waits for one. */
export interface SystemThreadJob {
  job?: SystemJob
}

/** Commands to the thread: `cancel` also signs out of the system, `startedOver` answers `startOver`. */
export type SystemCommand = { kind: 'cancel' } | { kind: 'startedOver' }

/**
 * Messages of the thread. `done` transfers the files of the tables, and has the bytes that the thread holds, unused
 * objects included.
 */
export type SystemMessage =
  | { kind: 'progress'; bytesRead?: number | undefined }
  | { kind: 'log'; line: Parameters<ReadReporter['log']> }
  | { kind: 'rejected'; row: RejectedRow }
  | { kind: 'fullRead'; reason: string }
  /** All records are read again. The thread waits for the answer. */
  | { kind: 'startOver' }
  | { kind: 'done'; spooled: SpooledSystem; heldBytes: number }
  | ProblemMessage
