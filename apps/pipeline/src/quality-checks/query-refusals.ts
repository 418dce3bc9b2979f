import {
  type AmbiguousTable,
  type ReadyTable,
  type StagedRowsPreview,
  type UserQuery,
  type Warehouse,
  WarehouseProblem,
} from '@sluice/warehouses/warehouse'
import type { CheckRunContext } from './run-checks.ts'

type QueryRefusal = NonNullable<CheckRunContext['refusal']>

/** Maximum number of schemas in a message. */
const maxNamedSchemas = 5

/**
 * Refuses queries with a table name without a schema if several schemas have such a table, because a check of the wrong table would
 * find no violations. The first `preferred` schemas have precedence.
 */
export function refuseAmbiguousTables(warehouse: Pick<Warehouse, 'queries'> | undefined, preferred = 0): QueryRefusal {
  return async (query, signal) => {
    const ambiguousTable = await warehouse?.queries
      .findAmbiguousTable(query, preferred, signal)
      .catch((error: unknown) => {
        // The check runs the query later, and reports this error then.
        if (error instanceof WarehouseProblem && !error.retryable) return undefined
        throw error
      })
    return ambiguousTable && describeAmbiguity(ambiguousTable)
  }
}

function describeAmbiguity({ name, schemas }: AmbiguousTable): string {
  const shownSchemas = schemas.slice(0, maxNamedSchemas).map((schema) => `"${schema}"`)
  const moreText = schemas.length > maxNamedSchemas ? ` and ${schemas.length - maxNamedSchemas} more` : ''
  return `Several schemas have a table "${name}": ${shownSchemas.join(', ')}${moreText}. Write the schema before the name, such as ${schemas[0]}.${name}.`
}

/** Combines refusals. Returns the sentence of the first one that refuses a query. */
export const combineRefusals =
  (...refusals: QueryRefusal[]): QueryRefusal =>
  async (query, signal) => {
    for (const refusal of refusals) {
      const sentence = await refusal(query, signal)
      if (sentence) return sentence
    }
    return undefined
  }

/** Refuses queries that would read the published rows of the last load instead of the staged rows that the check must see. */
export function refuseOldRows(preview: StagedRowsPreview, tables: readonly ReadyTable[]): QueryRefusal {
  const names = tables.map(({ table }) => `“${table}”`).join(', ')
  const advice = `Write ${names} without a schema to check the rows that are about to be published.`

  /** Explains the server's error that the table is unknown. Before the first publication, the table does not exist. */
  function describeUnpublishedTable(error: unknown): string {
    const table = tables.find(({ schema, table }) => (error as Error).message.includes(`"${schema}.${table}"`))
    if (!(error instanceof WarehouseProblem) || !table) throw error
    return `The query reads ${table.schema}.${table.table}, which was not published yet. ${advice}`
  }
  return async (query: UserQuery, signal) => {
    const published = await preview.oldRows(query, signal).catch(describeUnpublishedTable)
    if (published === undefined || typeof published === 'string') return published
    return published.view
      ? `The query reads the view ${published.name}, which shows the rows of the last load. ${advice}`
      : `The query reads ${published.name}, which has the rows of the last load. ${advice}`
  }
}
