import type { PipelineType, SourceBody } from '@sluice/contracts'
import type { SourceSecrets, SourceOption } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import type { HttpSession, HttpConnection } from './http-session.ts'
import type { FlattenOptions } from './flatten-record.ts'
import type { KnownColumn } from './record-tables.ts'

export type SettingsOf<Type extends PipelineType> = Extract<SourceBody, { type: Type }>

/** A system with an HTTP API. docs/adding-a-connector.md describes how to add one. */
export interface HttpSystem<Settings = unknown> {
  name: string
  /** Returns the address and the credentials of requests. Throws `SourceProblem` if a setting is missing. */
  connect(settings: Settings, secrets: SourceSecrets): HttpConnection
  /** Sends a small request that needs valid credentials. Throws `SourceProblem` for problems that a user can fix. */
  testConnection(context: SystemContext<Settings>): Promise<void>
  /** Lists the choices of a setting; undefined for an unknown kind. */
  listOptions?(kind: string, context: SystemContext<Settings>): Promise<SourceOption[]> | undefined
  /**
   * Returns the streams to read. A single stream fills the pipeline's own table. Several streams fill one table each, named after the
   * pipeline's own table, `__` and the stream; the pipeline's own table then lists them. The settings alone must decide between the two.
   */
  streams(context: SystemContext<Settings>): Promise<RecordStream | RecordStream[]>
  /** Whether these settings support increments, which need a key for all streams. Absent if the system has none. */
  canReadIncrement?(settings: Settings): boolean
  /** The cursor for a point in time (`2026-01-01T00:00:00.000Z`). Absent if cursors are not timestamps. */
  cursorAt?(moment: string): unknown
}

/** The session, settings and logger of one use of a system. */
export interface SystemContext<Settings = unknown> {
  http: HttpSession
  settings: Settings
  secrets: SourceSecrets
  /** The search text of a look-up, for systems that can search. The result is filtered in any case. */
  query?: string | undefined
  /** The parent of a look-up, such as a project. The settings of a saved pipeline can contain it instead. */
  within?: string | undefined
  signal: AbortSignal
  log(level: 'DEBUG' | 'INFO' | 'WARN', importance: 'LOW' | 'MEDIUM', message: string): void
}

export interface RecordStream extends FlattenOptions {
  /** Part of the table name if the system has several streams. */
  name: string
  /** Paths of the key; empty without a key. Records without key values are rejected. */
  key: readonly string[]
  /** Known columns. They exist even without records. */
  columns?: readonly KnownColumn[]
  /** Whether types are inferred from strings, because the system writes numbers and dates as text. */
  inferStrings?: boolean
  /** A warning that names parts of the source with rows that the settings neither choose nor exclude. The run ends as WARNING. */
  unreadWarning?: string | undefined
  /**
   * Yields all records, or those that are new or changed since `cursor`, page by page, so that only one page is in memory. Must not be
   * called twice concurrently.
   */
  pages(cursor: unknown): AsyncIterable<RecordPage>
}

export interface RecordPage {
  /**
   * Parsed JSON. Values that are not objects are rejected, and so are instances of `BadRecord`. A thousand consecutive pages without a new
   * record end the reading, so yield no page for a selected item without records.
   */
  records: readonly unknown[]
  /**
   * The cursor, as JSON, from which a later reading misses no record after those read so far: some minutes back by the clock of the source.
   * Absent while it is unknown; the last cursor is kept.
   */
  cursor?: unknown
}

/** Returns a secret. Throws `SourceProblem` if it is missing. */
export function requireSecret(secrets: SourceSecrets, name: string, description: string): string {
  const value = secrets[name]
  if (value) return value
  throw new SourceProblem('CREDENTIALS_MISSING', `The pipeline has no credentials. Enter ${description}.`)
}
