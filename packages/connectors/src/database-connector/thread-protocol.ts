import type { Column, ProblemMessage, RejectedRow, StoredType } from '@sluice/row-stream'
import type { DatabaseConfig, DatabaseLimits, ResolvedAddress } from './database-config.ts'
import type { ReadNote, SourceStatement } from './database-session.ts'
import type { DatabaseTotals } from './tuple-sink.ts'
import type { IncrementPlan } from './increments/plan-increment.ts'

/** The data with which a thread starts. Only this object contains the credentials; messages and logs never do. */
export interface DatabaseJob {
  config: DatabaseConfig
  addresses: readonly ResolvedAddress[]
  statements: readonly SourceStatement[]
  limits: DatabaseLimits
}

/**
 * Commands to the thread: `rows` reads the rows of the described statement, `next` continues with the next statement, `cancel`
 * stops the query and ends the thread, `more` allows one more batch, and `reuse` returns the memory of a batch.
 */
export type DatabaseCommand =
  | { kind: 'rows'; types: readonly StoredType[] }
  | { kind: 'next' }
  | { kind: 'cancel' }
  | { kind: 'more' }
  | { kind: 'reuse'; memory: ArrayBuffer }

/** Messages from the thread. A batch message transfers ownership of its memory. */
export type DatabaseMessage =
  | { kind: 'connected'; notes: ReadNote[] }
  | {
      kind: 'described'
      columns: Column[]
      notes: ReadNote[]
      bytes?: number | undefined
      increment?: Omit<IncrementPlan, 'filter' | 'note'> | undefined
    }
  | { kind: 'batch'; tuples: Uint8Array<ArrayBuffer>; rejected: RejectedRow[]; totals: DatabaseTotals }
  | { kind: 'done'; notes: ReadNote[] }
  | { kind: 'finished' }
  | ProblemMessage
