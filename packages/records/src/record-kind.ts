import type { Expression, RawBuilder, SqlBool } from 'kysely'
import type { Caller } from '@sluice/http'
import type { Properties } from './search/properties.ts'
import type { Level } from './sharing.ts'
import type { ChangeCounter, Only, TotalsTable } from './totals.ts'

/** What is particular about one kind of record. Its table goes by the alias `r` in every expression. */
export interface RecordKind<Row, Resource, Context> {
  noun: string
  table: string
  /** Where one of them is found, below `/api/v1`. */
  path: string
  properties: Properties
  /** Those of `properties` that are looked for in another way, depending on who asks. Under the same names, with the same types. */
  propertiesOf?(caller: Caller): Properties
  /** For tables that may grow so large that counting takes long. */
  tally?: TotalsTable
  /** The same for records that are shared; where there is no tally. */
  changes?: ChangeCounter
  /** Narrows every list, not what is read by its id. */
  only?: Only
  /** What the free-text `query` of a search looks at. `like` is the text as a pattern that finds it anywhere. */
  matches(like: string): Expression<SqlBool>
  scope(caller: Caller, level: Level): RawBuilder<SqlBool>
  /** Rows as they go out, in the same order. May ask other services; never called inside a transaction. */
  present(rows: Row[], context: Context): Promise<Resource[]>
}
