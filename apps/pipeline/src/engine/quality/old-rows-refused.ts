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
