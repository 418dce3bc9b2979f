import {
  type AmbiguousTable,
  type ReadyTable,
  type StagedRowsPreview,
  type UserQuery,
  type Warehouse,
  WarehouseProblem,
} from '@sluice/warehouses/warehouse'
import type { CheckRunContext } from './run-checks.ts'

type Refusal = NonNullable<CheckRunContext['refusal']>

/** Maximum number of schemas in a message. */
const maxNamedSchemas = 5

/**
 * Refuses queries that name a table without its schema if several schemas have one, because a check of the wrong table would find
 * nothing. The first `preferred` schemas have precedence.
 */
export function refuseAmbiguousTables(warehouse: Pick<Warehouse, 'queries'> | undefined, preferred = 0): Refusal {
  return async (query, signal) => {
    const found = await warehouse?.queries.findAmbiguousTable(query, preferred, signal).catch((error: unknown) => {
      // The query itself will report its errors.
      if (error instanceof WarehouseProblem && !error.retryable) return undefined
      throw error
    })
    return found && describeAmbiguity(found)
  }
}

function describeAmbiguity({ name, schemas }: AmbiguousTable): string {
  const shown = schemas.slice(0, maxNamedSchemas).map((schema) => `"${schema}"`)
  const more = schemas.length > maxNamedSchemas ? ` and ${schemas.length - maxNamedSchemas} more` : ''
  return `Several schemas have a table "${name}": ${shown.join(', ')}${more}. Write the one that is meant before its name, such as ${schemas[0]}.${name}.`
}

/** Combines refusals: the first one that refuses a query wins. */
export const combineRefusals =
  (...refusals: Refusal[]): Refusal =>
  async (query, signal) => {
    for (const refusal of refusals) {
      const sentence = await refusal(query, signal)
      if (sentence) return sentence
    }
    return undefined
  }

/** Refuses queries that would read the rows of the last load instead of the staged rows. */
export function refuseOldRows(
  preview: StagedRowsPreview,
  tables: readonly ReadyTable[],
): NonNullable<CheckRunContext['refusal']> {
  const names = tables.map(({ table }) => `“${table}”`).join(', ')
  const instead = `Write ${names} without a schema: that is the rows that are about to be published.`

  /** Before the first publication, the table does not exist, and the server's error would be hard to understand. */
  function describeUnpublishedTable(error: unknown): string {
    const table = tables.find(({ schema, table }) => (error as Error).message.includes(`"${schema}.${table}"`))
    if (!(error instanceof WarehouseProblem) || !table) throw error
    return `It names ${table.schema}.${table.table} with its schema, where nothing was published yet. ${instead}`
  }
  return async (query: UserQuery, signal) => {
    const old = await preview.oldRows(query, signal).catch(describeUnpublishedTable)
    if (typeof old === 'string') return old
    if (!old) return undefined
    return old.view
      ? `It reads the view ${old.name}, which shows the rows of the last load. ${instead}`
      : `It names ${old.name} with its schema, which is the rows of the last load. ${instead}`
  }
}
