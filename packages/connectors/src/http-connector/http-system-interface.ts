import type { PipelineType, SourceBody } from '@sluice/contracts'
import type { SourceSecrets, SourceOption } from '../connector.ts'
import { SourceProblem } from '@sluice/row-stream'
import type { HttpSession, HttpConnection } from './http-session.ts'
import type { FlattenOptions } from './records/flatten-record.ts'
import type { KnownColumn } from './known-column.ts'

export type SettingsOf<Type extends PipelineType> = Extract<SourceBody, { type: Type }>

/** A source with an HTTP API. docs/adding-a-connector.md describes how to add one. */
export interface HttpSystem<Settings = unknown> {
  name: string
  /** Returns the address of the system and the credentials of requests. Throws `SourceProblem` if a setting is missing. */
  connect(settings: Settings, secrets: SourceSecrets): HttpConnection
  /** Sends a small request that needs valid credentials. Throws `SourceProblem` for problems that a user can fix. */
  testConnection(context: SystemContext<Settings>): Promise<void>
  /** Lists the options of a setting. Returns undefined for an unknown kind. */
  listOptions?(kind: string, context: SystemContext<Settings>): Promise<SourceOption[]> | undefined
  /**
   * Returns the streams to read. A single stream fills the pipeline's own table. Each stream of a list fills a table named after the pipeline's own
   * table, `__` and the stream, and the pipeline's own table lists these tables. Whether the result is a list may depend only on the settings.
   */
  openStreams(context: SystemContext<Settings>): Promise<RecordStream | RecordStream[]>
  /** Returns whether these settings support increments, which need a key in all streams. Absent if the system has no increments. */
  canReadIncrement?(settings: Settings): boolean
  /**
   * Returns the cursor for a timestamp such as `2026-01-01T00:00:00.000Z`, or undefined if the cursors of these settings are not
   * timestamps. Absent if cursors are never timestamps.
   */
  createCursor?(moment: string, settings: Settings): unknown
}

/** The parameters of one operation of a system. */
export interface SystemContext<Settings = unknown> {
  http: HttpSession
  settings: Settings
  secrets: SourceSecrets
  /** The text to search for in a list of options. Systems that cannot search ignore it, because the caller filters as well. */
  query?: string | undefined
  /** The id of the parent of the options, such as a project. The default is the parent in the settings. */
  within?: string | undefined
  signal: AbortSignal
  log(level: 'DEBUG' | 'INFO' | 'WARN', importance: 'LOW' | 'MEDIUM', message: string): void
}

export interface RecordStream extends FlattenOptions {
  /** The part of the table name after `__`, if the system has several streams. */
  name: string
  /** Paths of the fields that form the key; empty without a key. Records without values in them are rejected. */
  key: readonly string[]
  /** Columns that exist even if there are no records. */
  columns?: readonly KnownColumn[]
  /** Whether to infer column types from texts, because the system returns numbers and dates as text. */
  inferStrings?: boolean
  /** A warning that names parts of the source which have rows but are not selected. It sets the status of the run to WARNING. */
  unreadWarning?: string | undefined
  /**
   * Yields all records, or those that changed since `cursor`. Records are yielded in pages, so that only one page is in memory.
   * Must not be called twice at the same time. Throws `ReadFromStart` if it cannot continue from `cursor`.
   */
  readPages(cursor: unknown): AsyncIterable<RecordPage>
}

export interface RecordPage {
  /**
   * Records as parsed JSON. Values that are not objects, and instances of `BadRecord`, are rejected. The read fails after a
   * thousand consecutive pages without new records, so a stream should omit empty pages.
   */
  records: readonly unknown[]
  /**
   * The cursor after this page, as JSON. A later read from it must not miss records, so it lies some minutes before the latest
   * change. If it is absent, the previous cursor stays valid.
   */
  cursor?: unknown
}

/** The system cannot continue from a cursor, for the reason in the message. Everything is then read and replaces the old rows. */
export class ReadFromStart extends Error {
  override readonly name = 'ReadFromStart'
}

/** Returns the secret with this name. Throws `SourceProblem` if it is missing. */
export function requireSecret(secrets: SourceSecrets, name: string, description: string): string {
  const value = secrets[name]
  if (value) return value
  throw new SourceProblem('CREDENTIALS_MISSING', `The pipeline lacks credentials. Enter ${description}.`)
}
