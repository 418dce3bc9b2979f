import type { Column, ProblemMessage, RejectedRow, StoredType } from '@sluice/row-stream'
import type { DatabaseConfig, DatabaseLimits, ResolvedAddress } from './database-config.ts'
import type { ReadNote, SourceStatement } from './database-session.ts'
import type { DatabaseTotals } from './tuple-sink.ts'
import type { IncrementPlan } from './increments/plan-increment.ts'

/** The data with which a thread starts. Only this object contains the credentials; later messages and logs do not. */
export interface DatabaseJob {
  config: DatabaseConfig
  addresses: readonly ResolvedAddress[]
  statements: readonly SourceStatement[]
  limits: DatabaseLimits
}

/**
 * Commands to the thread. `rows` reads the rows of a statement, `end` ends the thread, `cancel` stops the query and
 * ends the thread, `more` allows one more batch, and `reuse` returns the memory of a batch.
 */
export type DatabaseCommand =
  | { kind: 'rows'; statement: number; types: readonly StoredType[] }
  | { kind: 'end' }
  | { kind: 'cancel' }
  | { kind: 'more' }
  | { kind: 'reuse'; memory: ArrayBuffer }

/** A statement with its columns and the plan of its read. */
export interface StatementDescription {
  columns: Column[]
  notes: ReadNote[]
  estimatedBytes?: number | undefined
  increment?: Omit<IncrementPlan, 'filter' | 'note'> | undefined
}

/**
 * Messages from the thread. After `connected`, it describes all statements: one `described` per statement, or
 * `unreadable` for some and then the problem. Rows follow on command. A batch message transfers the ownership of its
 * memory.
 */
export type DatabaseMessage =
  | { kind: 'connected'; notes: ReadNote[] }
  | ({ kind: 'described' } & StatementDescription)
  | { kind: 'unreadable'; message: string }
  | { kind: 'batch'; tuples: Uint8Array<ArrayBuffer>; rejected: RejectedRow[]; totals: DatabaseTotals }
  | { kind: 'done'; notes: ReadNote[]; rows: number }
  | { kind: 'finished' }
  | ProblemMessage
