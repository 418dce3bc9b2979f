import type { ProblemMessage } from '../reading-thread.ts'
import type { FeedColumn, RejectedRow, StoredType } from '../source.ts'
import type { DatabaseConfig, DatabaseLimits, ResolvedAddress } from './database-config.ts'

/** What is read for one feed: a statement of the user, or a table. */
export type SourceStatement = { table: string; query: string } | { table: string; schema?: string; name: string }

/** What a thread is started with. The credentials are in here and nowhere else: it goes into no message and no log. */
export interface DatabaseJob {
  config: DatabaseConfig
  addresses: readonly ResolvedAddress[]
  statements: readonly SourceStatement[]
  limits: DatabaseLimits
}

/** What the thread is told: read the rows of the last statement, go to the next one, cancel it at the database and end, or that a chunk was used up. */
export type DatabaseCommand =
  | { kind: 'rows'; types: readonly StoredType[] }
  | { kind: 'next' }
  | { kind: 'cancel' }
  | { kind: 'more' }
  | { kind: 'reuse'; memory: ArrayBuffer }

export interface DatabaseTotals {
  bytesRead: number
  rowsRead: number
}

/** Something the owner should know about a feed, once. */
export interface ReadingNote {
  level: 'INFO' | 'WARN'
  message: string
}

/** What the thread says. The memory of a batch is handed over with it. */
export type DatabaseMessage =
  | { kind: 'connected'; notes: ReadingNote[] }
  | { kind: 'described'; columns: FeedColumn[]; notes: ReadingNote[]; bytes?: number | undefined }
  | { kind: 'batch'; tuples: Uint8Array<ArrayBuffer>; rejected: RejectedRow[]; totals: DatabaseTotals }
  | { kind: 'done'; notes: ReadingNote[] }
  | { kind: 'finished' }
  | ProblemMessage
