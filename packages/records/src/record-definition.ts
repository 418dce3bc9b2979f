import type { Expression, RawBuilder, SqlBool } from 'kysely'
import type { RecordAction } from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import type { Properties } from './search/properties.ts'
import type { AccessLevel } from './sharing.ts'
import type { ChangeCounter, ListCondition, TotalsTable } from './record-counts.ts'
import type { RecordSignatures, WithoutMay } from './record-permissions.ts'

/**
 * Describes one type of record, such as users: its table, properties and presentation. In every SQL expression, `r` is
 * the alias of its table.
 */
export interface RecordDefinition<Row, Resource, Context> {
  noun: string
  table: string
  /** The path of the records below `/api/v1`. */
  path: string
  properties: Properties
  /** Properties that depend on the caller, with the same names and types. They replace those in `properties`. */
  propertiesOf?(caller: Caller): Properties
  /** The totals table. Set for kinds with tables that may grow so large that counting takes long. */
  totalsTable?: TotalsTable
  /** Counts changes of shared records, for kinds without a totals table. */
  changes?: ChangeCounter
  /** A condition that restricts lists and searches, but not reads by id. */
  only?: ListCondition
  /** Returns the condition for the free-text `query`. `like` is the text as a LIKE pattern with `%` on both sides. */
  matches(like: string): Expression<SqlBool>
  scope(caller: Caller, level: AccessLevel): RawBuilder<SqlBool>
  /**
   * The operations on a record, from which the repository computes the field `may` (permitted actions) of its resource.
   * Absent for resources without this field.
   */
  signatures?: RecordSignatures
  /**
   * Returns whether the caller may perform a writing action. Defined if that depends on more than the action's guard
   * and the record.
   */
  mayWrite?(context: Context, action: RecordAction): Promise<boolean>
  /**
   * Converts rows to resources without the field `may`, in the same order. It may call other services, so it never runs
   * inside a transaction.
   */
  present(rows: Row[], context: Context): Promise<WithoutMay<Resource>[]>
}
