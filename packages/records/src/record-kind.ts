import type { Expression, RawBuilder, SqlBool } from 'kysely'
import type { Caller } from '@sluice/http-server'
import type { Properties } from './search/properties.ts'
import type { AccessLevel } from './sharing.ts'
import type { ChangeCounter, ListCondition, TotalsTable } from './totals.ts'

/** Describes one kind of record. Every expression refers to its table by the alias `r`. */
export interface RecordKind<Row, Resource, Context> {
  noun: string
  table: string
  /** Path of the records below `/api/v1`. */
  path: string
  properties: Properties
  /** Overrides of `properties` that depend on the caller, with the same names and types. */
  propertiesOf?(caller: Caller): Properties
  /** The stored row counts of a table, for a table that may grow so large that counting its rows takes long. */
  tally?: TotalsTable
  /** Counts changes of shared records, for kinds without a tally. */
  changes?: ChangeCounter
  /** Restricts lists and searches, not reads by id. */
  only?: ListCondition
  /**
   * Returns the condition for the free-text `query`. `like` is a LIKE pattern that matches texts with this text in
   * them.
   */
  matches(like: string): Expression<SqlBool>
  scope(caller: Caller, level: AccessLevel): RawBuilder<SqlBool>
  /** Converts rows to resources in the same order. May call other services; never called inside a transaction. */
  present(rows: Row[], context: Context): Promise<Resource[]>
}
