import { createHash } from 'node:crypto'
import { sql, type CompiledQuery, type RawBuilder, type SqlBool } from 'kysely'
import type { SearchPlan } from './search/search-plan.ts'
import type { Properties } from './search/properties.ts'

/**
 * A table in which triggers maintain the totals of a large table. Each row has values of some columns of the large
 * table, the number of records with these values (`total`), and a counter that every change of searchable data
 * increments (`changes`). Rows are never removed. So while the sum of `changes` in a scope is the same, the totals in
 * this scope are too.
 */
export interface TotalsTable {
  table: string
  /** Properties that are columns of the totals table. It also has the columns of the scope. */
  properties: readonly string[]
}

/** A fixed filter of a list, which applies in addition to the caller's scope. */
export interface ListCondition {
  /** Distinguishes this list from other lists of the same records. */
  name: string
  /** The query parameters of the equivalent GET list. */
  query?: Record<string, string>
  condition: RawBuilder<SqlBool>
  /** Whether the condition uses only columns of the totals table. */
  inTotalsTable: boolean
}

interface CountableRecords {
  properties: Properties
  totalsTable?: TotalsTable
  only?: ListCondition
}

/** Returns whether the kind of record has a totals table and this can evaluate all conditions of the plan. */
export function canUseTotalsTable(
  { totalsTable, only }: CountableRecords,
  { filtered, looksForText }: SearchPlan,
): boolean {
  if (totalsTable === undefined || looksForText) return false
  const isListConditionInTable = only?.inTotalsTable ?? true
  return isListConditionInTable && filtered.every((name) => totalsTable.properties.includes(name))
}

/**
 * Returns SQL for the number of records that match the condition: the sum of `total` over the rows of the totals table.
 */
export const sumTotals = ({ table }: TotalsTable, condition: RawBuilder<SqlBool>): RawBuilder<number> =>
  sql`(select coalesce(sum(r.total), 0)::bigint from ${sql.table(table)} as r where ${condition})`

/**
 * A table that counts the changes of records, with a row per `client` (organisation) and `kind`. Kinds of shared
 * records have it instead of a totals table, because each caller sees other records and thus another total.
 */
export interface ChangeCounter {
  table: string
  kind: string
}

/** Returns SQL for the version of an organisation's records of this kind: a number that every change increments. */
export const clientVersion = ({ table, kind }: ChangeCounter, client: string): RawBuilder<number> =>
  sql`(select coalesce(sum(c.changes), 0)::bigint from ${sql.table(table)} as c where c.client = ${client} and c.kind = ${kind})`

/** Returns SQL for the version of the records in a scope: a number that every change increments. */
export const totalsVersion = ({ table }: TotalsTable, scope: RawBuilder<SqlBool>): RawBuilder<number> =>
  sql`(select coalesce(sum(r.changes), 0)::bigint from ${sql.table(table)} as r where ${scope})`

/** The maximum number of cached totals per process. The oldest entries are evicted first. */
const maxCachedTotals = 5000

interface VersionedTotal {
  total: number
  version: number
}

/**
 * Returns a cache of the totals of queries. Each total has the version of the table with which it was counted, and is
 * valid while the table has this version.
 */
export function createTotalsCache() {
  const totals = new Map<string, VersionedTotal>()
  return {
    /**
     * Returns whether a total may be cached. It may not if a condition depends on other tables, because changes of
     * those do not increment the version.
     */
    mayCacheTotal({ properties, only }: CountableRecords, { filtered: filteredNames }: SearchPlan): boolean {
      const isColumnOfTable = (name: string) => {
        const property = properties[name]
        const isColumn = typeof property?.column === 'string'
        return isColumn && property?.toExists === undefined
      }
      const isListConditionInTable = only?.inTotalsTable ?? true
      return isListConditionInTable && filteredNames.every(isColumnOfTable)
    },

    /** Returns the key of the total of a query: a hash of its SQL and parameters. */
    keyOf: ({ sql: text, parameters }: CompiledQuery): string =>
      createHash('sha256')
        .update(JSON.stringify([text, parameters]))
        .digest('base64'),

    find: (key: string): VersionedTotal | undefined => totals.get(key),

    /** Stores a total as the newest entry. Does nothing if the total or its version is unknown. */
    store(key: string, { total, version }: Partial<VersionedTotal>): void {
      if (total === undefined || version === undefined) return
      // A map keeps its entries in the order of insertion, so the first key is the oldest.
      totals.delete(key)
      totals.set(key, { total, version })
      if (totals.size > maxCachedTotals) totals.delete(totals.keys().next().value!)
    },
  }
}
