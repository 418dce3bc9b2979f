import { createHash } from 'node:crypto'
import { sql, type CompiledQuery, type RawBuilder, type SqlBool } from 'kysely'
import type { SearchPlan } from './search/plan.ts'
import type { Properties } from './search/properties.ts'

/**
 * Where the totals of a large table are kept by its triggers, so that they need not be counted: rows with some of the
 * table's columns, under the same names; `total`, how many records have these values; and `changes`, which goes up with
 * every statement that changes anything of them that can be searched. Rows are never removed, so the sum of `changes` over
 * a scope goes up only: as long as it stays, so does every total in that scope.
 */
export interface TotalsTable {
  table: string
  /** Properties whose columns the tally has. It has those of the scope, too. */
  properties: readonly string[]
}

/** A condition that every list of a kind has, besides the scope. */
export interface Only {
  /** Tells these lists from others of the kind. */
  name: string
  /** What a list by GET is asked besides, for this condition to hold there. */
  query?: Record<string, string>
  condition: RawBuilder<SqlBool>
  /** Does the condition look at columns of the tally alone? */
  tallied: boolean
}

interface CountableKind {
  properties: Properties
  tally?: TotalsTable
  only?: Only
}

/** Do the conditions hold for a row of the tally just as for the records that it stands for? */
export const isTallied = ({ tally, only }: CountableKind, { filtered, looksForText }: SearchPlan): boolean =>
  tally !== undefined &&
  !looksForText &&
  (only?.tallied ?? true) &&
  filtered.every((name) => tally.properties.includes(name))

/** The total, from the tally. */
export const totalFromTally = ({ table }: TotalsTable, where: RawBuilder<SqlBool>): RawBuilder<number> =>
  sql`(select coalesce(sum(r.total), 0)::bigint from ${sql.table(table)} as r where ${where})`

/**
 * Where only the changes are counted, by client: rows with `client`, `kind` and `changes`, as of a tally. For records that
 * each caller sees others of, so that no total serves all.
 */
export interface ChangeCounter {
  table: string
  kind: string
}

/** Goes up with every change of a client's records. */
export const clientVersion = ({ table, kind }: ChangeCounter, client: string): RawBuilder<number> =>
  sql`(select coalesce(sum(c.changes), 0)::bigint from ${sql.table(table)} as c where c.client = ${client} and c.kind = ${kind})`

/** Goes up with every change in a scope. */
export const tallyVersion = ({ table }: TotalsTable, scope: RawBuilder<SqlBool>): RawBuilder<number> =>
  sql`(select coalesce(sum(r.changes), 0)::bigint from ${sql.table(table)} as r where ${scope})`

/** Of each process; the oldest go first. */
const maxCachedTotals = 5000

interface VersionedTotal {
  total: number
  version: number
}

/**
 * Totals that were counted, by what was counted. Each goes with the version that it was counted at, by one statement with
 * the page: it is the total of every moment that has the same version.
 */
export function createTotalsCache() {
  const known = new Map<string, VersionedTotal>()
  return {
    /** Not where other tables decide what is found. */
    mayRemember: ({ properties, only }: CountableKind, { filtered }: SearchPlan): boolean =>
      (only?.tallied ?? true) &&
      filtered.every((name) => {
        const property = properties[name]
        return property && typeof property.column === 'string' && !property.some
      }),

    keyOf: ({ sql: text, parameters }: CompiledQuery): string =>
      createHash('sha256')
        .update(JSON.stringify([text, parameters]))
        .digest('base64'),

    find: (key: string): VersionedTotal | undefined => known.get(key),

    keep(key: string, { total, version }: Partial<VersionedTotal>): void {
      if (total === undefined || version === undefined) return
      known.delete(key)
      known.set(key, { total, version })
      if (known.size > maxCachedTotals) known.delete(known.keys().next().value!)
    },
  }
}
