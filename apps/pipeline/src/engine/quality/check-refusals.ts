import {
  type AmbiguousTable,
  type ReadyTable,
  type Rehearsal,
  type UserQuery,
  type Warehouse,
  WarehouseProblem,
} from '../warehouses/warehouse.ts'
import type { Surroundings } from './run-checks.ts'

type Refusal = NonNullable<Surroundings['refusal']>

/** How many schemas a sentence names. */
const named = 5

/**
 * Refuses queries that name a table without its schema where several have one: a check that looks at the wrong table finds
 * nothing, and says that all is well. The first `preferred` of the schemas come before the others.
 */
export function ambiguousRefused(warehouse: Pick<Warehouse, 'ambiguousTable'> | undefined, preferred = 0): Refusal {
  return async (query, signal) => {
    const found = await warehouse?.ambiguousTable(query, preferred, signal).catch((error: unknown) => {
      // What is wrong with the query it says itself.
      if (error instanceof WarehouseProblem && !error.retryable) return undefined
      throw error
    })
    return found && sentenceOf(found)
  }
}

function sentenceOf({ name, schemas }: AmbiguousTable): string {
  const shown = schemas.slice(0, named).map((schema) => `"${schema}"`)
  const more = schemas.length > named ? ` and ${schemas.length - named} more` : ''
  return `Several schemas have a table "${name}": ${shown.join(', ')}${more}. Write the one that is meant before its name, such as ${schemas[0]}.${name}.`
}

/** What the first of them refuses. */
export const refusedByAny =
  (...refusals: Refusal[]): Refusal =>
  async (query, signal) => {
    for (const refusal of refusals) {
      const sentence = await refusal(query, signal)
      if (sentence) return sentence
    }
    return undefined
  }

/** Refuses queries that would look at the rows of the last load, as if they were those that are to pass. */
export function oldRowsRefused(
  rehearsal: Rehearsal,
  tables: readonly ReadyTable[],
): NonNullable<Surroundings['refusal']> {
  const names = tables.map(({ table }) => `“${table}”`).join(', ')
  const instead = `Write ${names} without a schema: that is the rows that are about to be published.`

  /** Before the first publication there is no such table: then nobody would guess what is wrong with its name. */
  function unknown(error: unknown): string {
    const named = tables.find(({ schema, table }) => (error as Error).message.includes(`"${schema}.${table}"`))
    if (!(error instanceof WarehouseProblem) || !named) throw error
    return `It names ${named.schema}.${named.table} with its schema, where nothing was published yet. ${instead}`
  }
  return async (query: UserQuery, signal) => {
    const old = await rehearsal.oldRows(query, signal).catch(unknown)
    if (typeof old === 'string') return old
    if (!old) return undefined
    return old.view
      ? `It reads the view ${old.name}, which shows the rows of the last load. ${instead}`
      : `It names ${old.name} with its schema, which is the rows of the last load. ${instead}`
  }
}
