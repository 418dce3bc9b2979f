import { type ReadyTable, type Rehearsal, type UserQuery, WarehouseProblem } from '../warehouses/warehouse.ts'
import type { Surroundings } from './run-checks.ts'

/** Refuses queries that would look at the rows of the last load, as if they were those that are to pass. */
export function oldRowsRefused(
  rehearsal: Rehearsal,
  tables: readonly ReadyTable[],
): NonNullable<Surroundings['refusal']> {
  const names = tables.map(({ table }) => `“${table}”`).join(', ')
  const instead = `Write ${names} without a schema: that is the rows that are about to be published.`

  /** Before the first publication there is no such table: then nobody would guess what is wrong with its name. */
  function explained(error: unknown): unknown {
    const named = tables.some(({ schema, table }) => (error as Error).message.includes(`"${schema}.${table}"`))
    if (!(error instanceof WarehouseProblem) || !named) return error
    return new WarehouseProblem(error.code, `${error.message} ${instead}`, { cause: error, retryable: error.retryable })
  }

  return async (query: UserQuery, signal) => {
    const old = await rehearsal.oldRows(query, signal).catch((error: unknown) => {
      throw explained(error)
    })
    if (!old) return undefined
    return old.view
      ? `It reads the view ${old.name}, which shows the rows of the last load. ${instead}`
      : `It names ${old.name} with its schema, which is the rows of the last load. ${instead}`
  }
}
