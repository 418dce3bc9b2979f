import type { PipelineType } from '@sluice/contracts'
import type { People } from './people.ts'
import type { UnsupportedRules } from './rules.ts'
import type { StandInRequest, StandInServer } from './stand-in-server.ts'

/** One system in the conformance suite. */
export interface ConnectorFixture {
  type: PipelineType | 'CLINIC_REGISTER'
  /** Where the system is that no type of pipeline has: the address of a module that exports it alone. */
  module?: string
  /** What people call it. */
  system: string
  /** Rows that do not apply, each with the reason in a sentence; `page` where a preview cannot ask for a part. */
  unsupportedRules: UnsupportedRules & { page?: string }
  /** Columns of the pipeline's own table, or of `table` behind its name. */
  columns: { id: string; name: string; extra?: string }
  /** Where the rows are, for systems that fill several tables: `__name`. */
  table?: string
  /** The table of the group that repeats, behind that: `__children`; and the column of its text. */
  group?: { table: string; column: string }
  /** The column of records that says which of them were deleted, where increments bring those. */
  deletedColumn?: string
  /** Set for one system: it has the rows of shared code in every run, not only in `npm run test:long`. */
  runsEveryRuleAlways?: boolean
  /** What there is to choose from, by kind, and the ids that are found. */
  lookups: Record<string, string[]>
  start(): Promise<StandIn>
  /** How a real account is asked instead, where its values are in the environment. */
  account?: Account
}

/** Variables of the environment, and what a pipeline says with their values. */
export interface Account {
  variables: readonly string[]
  settings(values: Readonly<Record<string, string>>): Record<string, unknown>
  secrets(values: Readonly<Record<string, string>>): Record<string, string>
}

/** A system that stands in for the real one. */
export interface StandIn {
  server: StandInServer
  people: People
  /** What a pipeline says of it, as it is stored. */
  settings: Record<string, unknown>
  secrets: Record<string, string>
  /** Deletes a record in the way that the system tells later. Absent where it tells nothing. */
  remove?(id: number, at: number): void
  /** Whether a request asks for records: those are the ones that faults meet. */
  isPageRequest(request: StandInRequest): boolean
}
