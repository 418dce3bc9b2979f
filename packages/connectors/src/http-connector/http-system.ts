import type { PipelineType, SourceBody } from '@sluice/contracts'
import type { SourceSecrets, SourceOption } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import type { HttpSession, HttpConnection } from './http-session.ts'
import type { FlattenOptions } from './records/flatten-record.ts'
import type { KnownColumn } from './declared-column.ts'

export type SettingsOf<Type extends PipelineType> = Extract<SourceBody, { type: Type }>

/** A source with an HTTP API. docs/adding-a-connector.md describes how to add one. */
export interface HttpSystem<Settings = unknown> {
  name: string
  /** Returns the system's address and the credentials for requests. Throws `SourceProblem` if a setting is missing. */
  connect(settings: Settings, secrets: SourceSecrets): HttpConnection
  /**
   * Tests the connection with a small request that needs valid credentials. Throws `SourceProblem` for problems that a
   * user can fix.
   */
  testConnection(context: SystemContext<Settings>): Promise<void>
  /** Lists the options of a setting. Returns undefined for an unknown kind of option. */
  listOptions?(kind: string, context: SystemContext<Settings>): Promise<SourceOption[]> | undefined
  /**
   * Returns the streams of records to read. A single stream fills the pipeline's own table. Each stream of a list fills
   * a table that is named by the pipeline's own table, `__` and the stream's name; the own table then lists these
   * tables. Whether the result is a list may depend only on the settings.
   */
  openStreams(context: SystemContext<Settings>): Promise<RecordStream | RecordStream[]>
  /**
   * Returns true if the settings support increments, which need a key in all streams. Absent if the system never has
   * increments.
   */
  canReadIncrement?(settings: Settings): boolean
  /**
   * Converts a timestamp such as `2026-01-01T00:00:00.000Z` to a cursor. Returns undefined if the cursors of these
   * settings are not timestamps. Absent if the system's cursors never are.
   */
  createCursor?(moment: string, settings: Settings): unknown
}

/** The parameters for one operation of a system. */
export interface SystemContext<Settings = unknown> {
  http: HttpSession
  settings: Settings
  secrets: SourceSecrets
  /** The text to search for among options. Systems that cannot search ignore it, because the caller filters too. */
  query?: string | undefined
  /** The id of the options' parent, such as a project. Default: the parent in the settings. */
  within?: string | undefined
  signal: AbortSignal
  log(level: 'DEBUG' | 'INFO' | 'WARN', importance: 'LOW' | 'MEDIUM', message: string): void
}

export interface RecordStream extends FlattenOptions {
  /** The part of the table name after `__`, if the system has several streams. */
  name: string
  /** Paths of the key fields. Empty if records have no key. Records without a value in a key field are rejected. */
  key: readonly string[]
  /** Columns that exist even without records. */
  columns?: readonly KnownColumn[]
  /** True to infer column types from texts, because the system returns numbers and dates as text. */
  inferStrings?: boolean
  /** A warning that names parts of the source with rows that are not selected. It sets the run's status to WARNING. */
  unreadWarning?: string | undefined
  /**
   * Yields all records, or those that changed since `cursor`, in pages, so that only one page is in memory. Do not call
   * it twice at the same time. Throws `CursorUnusable` if the read cannot continue from `cursor`.
   */
  readPages(cursor: unknown): AsyncIterable<RecordPage>
}

export interface RecordPage {
  /**
   * Records as parsed JSON. Values that are not objects, and `BadRecord` instances, are rejected. The read fails after
   * 1,000 consecutive pages without new records, so a stream should leave out empty pages.
   */
  records: readonly unknown[]
  /**
   * The cursor after this page, as JSON. A later read from it must not miss records, so it is some minutes before the
   * latest change. If absent, the previous cursor stays valid.
   */
  cursor?: unknown
}

/**
 * Thrown if the system cannot continue from a cursor; the message contains the reason. Everything is then read and
 * replaces the existing rows.
 */
export class CursorUnusable extends Error {
  override readonly name = 'CursorUnusable'
}

/** Returns the secret with this name. Throws `SourceProblem` if it is missing. */
export function requireSecret(secrets: SourceSecrets, name: string, description: string): string {
  const value = secrets[name]
  if (value) return value
  throw new SourceProblem('CREDENTIALS_MISSING', `The pipeline lacks credentials. Enter ${description}.`)
}
