import { type AmbiguousTable, type Warehouse, WarehouseProblem } from '../warehouses/warehouse.ts'
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
