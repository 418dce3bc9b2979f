import type { PipelineType, SourceBody } from '@sluice/contracts'
import type { SourceSecrets } from '../../../source-secrets.ts'
import type { SourceChoice } from '../reading.ts'
import { SourceProblem } from '../source.ts'
import type { SystemConnection, HttpSession } from './http/connection.ts'
import type { FlattenOptions } from './tables/flatten.ts'
import type { KnownColumn } from './tables/table-spool.ts'

/** What a pipeline of a type says of its source, without secrets. */
export type SettingsOf<Type extends PipelineType> = Extract<SourceBody, { type: Type }>

/** One system that is asked by HTTP, as a value: docs/adding-a-source.md says how one is added. */
export interface HttpSystem<Settings = unknown> {
  /** What people call it; messages name it. */
  name: string
  /** Where it is, and how requests are signed in. Throws `SourceProblem` where something is missing for that. */
  connect(settings: Settings, secrets: SourceSecrets): SystemConnection
  /** Asks something small that only those get who may. Throws `SourceProblem` for what a person can mend. */
  test(asking: SystemContext<Settings>): Promise<void>
  /** What there is to choose from: undefined for a kind that there is not. */
  lookup?(kind: string, asking: SystemContext<Settings>): Promise<SourceChoice[]> | undefined
  /**
   * What is read. A single one fills the pipeline's own table. Several fill a table each, called like the pipeline's own with `__` and
   * their names; its own then says which there are. It has to be clear from the settings which of the two it is.
   */
  streams(asking: SystemContext<Settings>): Promise<RecordStream | RecordStream[]>
  /** Whether what these settings ask for can be told by what is new. All streams need a key then. Absent where nothing can. */
  increments?(settings: Settings): boolean
  /** The cursor of a reading that begins at a moment (`2026-01-01T00:00:00.000Z`). Absent where cursors are no moments. */
  cursorAt?(moment: string): unknown
}

/** A system in the midst of being asked. */
export interface SystemContext<Settings = unknown> {
  http: HttpSession
  settings: Settings
  secrets: SourceSecrets
  /** Of a look-up: what it is to have in its name, for systems that can search; what is answered is searched in any case. */
  query?: string | undefined
  /** Of a look-up: the project, or whatever it is that has what is looked up; where it is absent, the settings of a saved pipeline may say it. */
  within?: string | undefined
  signal: AbortSignal
  log(level: 'DEBUG' | 'INFO' | 'WARN', importance: 'LOW' | 'MEDIUM', message: string): void
}

/** One kind of record that a system has, and how all of them are got. */
export interface RecordStream extends FlattenOptions {
  /** Part of the table's name where there are several. */
  name: string
  /** Paths of what tells a record from all others; empty where nothing does. Records without it are set aside. */
  key: readonly string[]
  /** Columns of which something is known beforehand. They are there even while there are no records. */
  columns?: readonly KnownColumn[]
  /** Whether texts may be numbers and dates that the system only writes as text. */
  inferStrings?: boolean
  /** A warning that names parts of the source with rows that the settings neither choose nor exclude. The run ends as WARNING. */
  unreadWarning?: string | undefined
  /**
   * All records, or from `cursor` on those that are new or were changed: one page after another, so that no more than a page is held. Not
   * to be asked for twice at once.
   */
  pages(cursor: unknown): AsyncIterable<RecordPage>
}

export interface RecordPage {
  /**
   * As parsed JSON. What is no object is set aside, and so is what the system made a `BadRecord` of. A thousand pages in a row without a new
   * one end the reading: where what is chosen may have none, no page is given.
   */
  records: readonly unknown[]
  /**
   * Where a later reading would begin so that it misses nothing behind the records given so far, as JSON; by the clock of the source, some
   * minutes back. Absent while that is not known: the last one given is kept.
   */
  cursor?: unknown
}

/** Seconds by which readings overlap: what was saved at the same moment may become visible a little later. */
export const overlapSeconds = 300

/** A secret that the system cannot do without. */
export function requireSecret(secrets: SourceSecrets, name: string, what: string): string {
  const value = secrets[name]
  if (value) return value
  throw new SourceProblem('CREDENTIALS_MISSING', `There is nothing to sign in with: give the pipeline ${what}.`)
}
