import type { Expression, RawBuilder, SqlBool } from 'kysely'
import type { RecordAction } from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import type { Properties } from './search/properties.ts'
import type { AccessLevel } from './sharing.ts'
import type { ChangeCounter, ListCondition, TotalsTable } from './record-counts.ts'
import type { RecordSignatures, WithoutMay } from './record-permissions.ts'

/** Describes one kind of record. Every expression refers to its table by the alias `r`. */
export interface RecordKind<Row, Resource, Context> {
  noun: string
  table: string
  /** Path of the records below `/api/v1`. */
  path: string
  properties: Properties
  /** Overrides of `properties` that depend on the caller, with the same names and types. */
  propertiesOf?(caller: Caller): Properties
  /** The totals of this table. Set for tables that may grow so large that counting takes long. */
  totalsTable?: TotalsTable
  /** Counts changes of shared records, for kinds without a totals table. */
  changes?: ChangeCounter
  /** Restricts lists and searches, not reads by id. */
  only?: ListCondition
  /** Condition for the free-text `query`. `like` is the text as a contains-pattern. */
  matches(like: string): Expression<SqlBool>
  scope(caller: Caller, level: AccessLevel): RawBuilder<SqlBool>
  /** The operations on a record, from which the repository computes the field `may` of its resource. Absent for resources without it. */
  signatures?: RecordSignatures
  /** Whether the caller may do an action that writes, if that depends on more than its guard and the record. */
  mayWrite?(context: Context, action: RecordAction): Promise<boolean>
  /** Converts rows to resources without `may`, in the same order. It can call other services, so it never runs inside a transaction. */
  present(rows: Row[], context: Context): Promise<WithoutMay<Resource>[]>
}
