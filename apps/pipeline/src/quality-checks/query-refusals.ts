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

/** The maximum number of schemas that a message names. */
const maxNamedSchemas = 5

/**
 * Returns a function that refuses queries with an unqualified table name that exists in several schemas, because a
 * check of the wrong table would find no violations. A name that exists in one of the first `preferredCount` schemas of
 * the query is not ambiguous. The function returns the reason, or undefined if the query is allowed.
 */
export function createAmbiguousTableRefusal(
  warehouse: Pick<Warehouse, 'queries'> | undefined,
  preferredCount = 0,
): QueryRefusal {
  return async (query, signal) => {
    const ambiguousTable = await warehouse?.queries
      .findAmbiguousTable(query, preferredCount, signal)
      .catch((error: unknown) => {
        // Ignore the error, because the check runs the query later and then reports it.
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

/** Combines several refusal functions. The result returns the sentence of the first one that refuses the query. */
export const combineRefusals =
  (...refusals: QueryRefusal[]): QueryRefusal =>
  async (query, signal) => {
    for (const refusal of refusals) {
      const sentence = await refusal(query, signal)
      if (sentence) return sentence
    }
    return undefined
  }

/**
 * Returns a function that refuses queries of published tables. In a quality gate, a check must read the staged rows,
 * which are about to be published, and not the rows of the last load. The function returns the reason, or undefined if
 * the query is allowed.
 */
export function createOldRowsRefusal(preview: StagedRowsPreview, tables: readonly ReadyTable[]): QueryRefusal {
  const names = tables.map(({ table }) => `“${table}”`).join(', ')
  const advice = `Write ${names} without a schema to check the rows that are about to be published.`
  return async (query: UserQuery, signal) => {
    try {
      const oldRows = await preview.findOldRows(query, signal)
      if (!oldRows) return undefined
      return oldRows.view
        ? `The query reads the view ${oldRows.name}, which shows the rows of the last load. ${advice}`
        : `The query reads ${oldRows.name}, which has the rows of the last load. ${advice}`
    } catch (error) {
      // Before the first load is published, the warehouse reports that the table does not exist.
      const missing = error instanceof WarehouseProblem && findNamedTable(error.message, tables)
      if (!missing) throw error
      return `The query reads ${missing.schema}.${missing.table}, which was not published yet. ${advice}`
    }
  }
}

const findNamedTable = (message: string, tables: readonly ReadyTable[]): ReadyTable | undefined =>
  tables.find(({ schema, table }) => message.includes(`"${schema}.${table}"`))
