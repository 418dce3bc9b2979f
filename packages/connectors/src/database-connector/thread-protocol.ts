import type { Column, ProblemMessage, RejectedRow, StoredType } from '@sluice/row-stream'
import type { DatabaseConfig, DatabaseLimits, ResolvedAddress } from './database-config.ts'
import type { ReadingNote, SourceStatement } from './session.ts'
import type { DatabaseTotals } from './tuple-sink.ts'

/** The job that starts a thread. Only this object contains the credentials; no message and no log contains them. */
export interface DatabaseJob {
  config: DatabaseConfig
  addresses: readonly ResolvedAddress[]
  statements: readonly SourceStatement[]
  limits: DatabaseLimits
}

/**
 * Commands to the thread: read the rows of the last statement, go to the next statement, cancel at the database and end,
 * or recycle a used chunk.
 */
export type DatabaseCommand =
  | { kind: 'rows'; types: readonly StoredType[] }
  | { kind: 'next' }
  | { kind: 'cancel' }
  | { kind: 'more' }
  | { kind: 'reuse'; memory: ArrayBuffer }

/** Messages of the thread. A batch message transfers the memory of the batch. */
export type DatabaseMessage =
  | { kind: 'connected'; notes: ReadingNote[] }
  | { kind: 'described'; columns: Column[]; notes: ReadingNote[]; bytes?: number | undefined }
  | { kind: 'batch'; tuples: Uint8Array<ArrayBuffer>; rejected: RejectedRow[]; totals: DatabaseTotals }
  | { kind: 'done'; notes: ReadingNote[] }
  | { kind: 'finished' }
  | ProblemMessage
