import type { ReadyTable, Rehearsal } from '../warehouses/warehouse.ts'
import type { Surroundings } from './run-checks.ts'

/** Refuses queries that would look at the rows of the last load, as if they were those that are to pass. */
export function oldRowsRefused(
  rehearsal: Rehearsal,
  tables: readonly ReadyTable[],
): NonNullable<Surroundings['refusal']> {
  const names = tables.map(({ table }) => `“${table}”`).join(', ')
  const instead = `Write ${names} without a schema: that is the rows that are about to be published.`
  return async (query, signal) => {
    const old = await rehearsal.oldRows(query, signal)
    if (!old) return undefined
    return old.view
      ? `It reads the view ${old.name}, which shows the rows of the last load. ${instead}`
      : `It names ${old.name} with its schema, which is the rows of the last load. ${instead}`
  }
}
