import { createHash } from 'node:crypto'
import { sql, type CompiledQuery, type RawBuilder, type SqlBool } from 'kysely'
import type { SearchPlan } from './search/plan.ts'
import type { Properties } from './search/properties.ts'

/**
 * A table in which triggers maintain the totals of a large table. Each row has values of some columns of the large table, the
 * number of records with these values (`total`), and a counter that every change of searchable data increments (`changes`). Rows
 * are never removed. So while the sum of `changes` in a scope stays the same, the totals in this scope do too.
 */
export interface TotalsTable {
  table: string
  /** Properties with a column in the table. The table also has the columns of the scope. */
  properties: readonly string[]
}

/** A condition of every list of a kind, in addition to the scope. */
export interface ListCondition {
  /** Distinguishes these lists from other lists of the kind. */
  name: string
  /** Query parameters of the equivalent GET list. */
  query?: Record<string, string>
  condition: RawBuilder<SqlBool>
  /** Whether the condition uses only columns of the totals table. */
  inTotalsTable: boolean
}

interface CountableKind {
  properties: Properties
  totalsTable?: TotalsTable
  only?: ListCondition
}

/** Returns whether the totals table can evaluate all conditions of the plan. */
export const canUseTotalsTable = (
  { totalsTable, only }: CountableKind,
  { filtered, looksForText }: SearchPlan,
): boolean =>
  totalsTable !== undefined &&
  !looksForText &&
  (only?.inTotalsTable ?? true) &&
  filtered.every((name) => totalsTable.properties.includes(name))

/** Returns SQL for the number of records that meet the condition: the sum of `total` over the rows of the totals table. */
export const sumTotals = ({ table }: TotalsTable, condition: RawBuilder<SqlBool>): RawBuilder<number> =>
  sql`(select coalesce(sum(r.total), 0)::bigint from ${sql.table(table)} as r where ${condition})`

/**
 * A table that counts the changes of records: it has a row with the number of `changes` for each `client` and `kind`. Kinds of
 * shared records have it instead of a totals table, because each caller sees other records and thus another total.
 */
export interface ChangeCounter {
  table: string
  kind: string
}

/** Returns SQL for the version of a client's records: a number that every change increases. */
export const clientVersion = ({ table, kind }: ChangeCounter, client: string): RawBuilder<number> =>
  sql`(select coalesce(sum(c.changes), 0)::bigint from ${sql.table(table)} as c where c.client = ${client} and c.kind = ${kind})`

/** Returns SQL for the version of the records in a scope: a number that every change increases. */
export const totalsVersion = ({ table }: TotalsTable, scope: RawBuilder<SqlBool>): RawBuilder<number> =>
  sql`(select coalesce(sum(r.changes), 0)::bigint from ${sql.table(table)} as r where ${scope})`

/** Maximum number of cached totals per process. The oldest entries are evicted first. */
const maxCachedTotals = 5000

interface VersionedTotal {
  total: number
  version: number
}

/**
 * Returns a cache of counted totals by query. One statement reads the total and the version, so they belong together. A total is
 * valid while the version is the same.
 */
export function createTotalsCache() {
  const totals = new Map<string, VersionedTotal>()
  return {
    /**
     * Returns whether a total may be cached. It may not if a condition depends on other tables, because changes of these tables do
     * not increase the version.
     */
    mayCacheTotal: ({ properties, only }: CountableKind, { filtered }: SearchPlan): boolean =>
      (only?.inTotalsTable ?? true) &&
      filtered.every((name) => {
        const property = properties[name]
        return property && typeof property.column === 'string' && !property.some
      }),

    keyOf: ({ sql: text, parameters }: CompiledQuery): string =>
      createHash('sha256')
        .update(JSON.stringify([text, parameters]))
        .digest('base64'),

    find: (key: string): VersionedTotal | undefined => totals.get(key),

    store(key: string, { total, version }: Partial<VersionedTotal>): void {
      if (total === undefined || version === undefined) return
      totals.delete(key)
      totals.set(key, { total, version })
      if (totals.size > maxCachedTotals) totals.delete(totals.keys().next().value!)
    },
  }
}
