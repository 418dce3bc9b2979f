import type { PipelineType } from '@sluice/contracts'
import type { People } from './sample-records.ts'
import type { UnsupportedRules } from './conformance-rules.ts'
import type { StandInRequest, StandInServer } from './stand-in-server.ts'

/** A connector in the conformance suite. */
export interface ConnectorFixture {
  type: PipelineType | 'CLINIC_REGISTER'
  /** The address of a module that exports only the system, for a system without a pipeline type. */
  module?: string
  /** Display name. */
  system: string
  /** Rules that do not apply, each with the reason in a sentence; `page` if a preview cannot request a part. */
  unsupportedRules: UnsupportedRules & { page?: string }
  /** Columns of the pipeline's own table, or of `table`. */
  columns: { id: string; name: string; extra?: string }
  /** The suffix of the table with the rows, for systems that fill several tables: `__name`. */
  table?: string
  /** The suffix of the table of the repeat group, after that: `__children`; and its text column. */
  group?: { table: string; column: string }
  /** The column that marks deleted records, if increments contain them. */
  deletedColumn?: string
  /** Set for one connector: it tests the rules of shared code in every run, not only in `npm run test:long`. */
  runsEveryRuleAlways?: boolean
  /** The ids of the options by kind. */
  lookups: Record<string, string[]>
  start(): Promise<StandIn>
  /** A real account, which is tested if its values are in the environment. */
  account?: Account
}

/** Environment variables, and the settings and secrets with their values. */
export interface Account {
  variables: readonly string[]
  settings(values: Readonly<Record<string, string>>): Record<string, unknown>
  secrets(values: Readonly<Record<string, string>>): Record<string, string>
}

/** A running test server that replaces the real system. */
export interface StandIn {
  server: StandInServer
  people: People
  /** The stored settings of a pipeline. */
  settings: Record<string, unknown>
  secrets: Record<string, string>
  /** Deletes a record so that increments report it. Absent if the system does not report deleted submissions. */
  remove?(id: number, at: number): void
  /** Whether a request reads records. Faults apply to these requests. */
  isPageRequest(request: StandInRequest): boolean
}
