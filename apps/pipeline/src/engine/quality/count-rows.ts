import { withoutEnd } from '../../sql-text.ts'
import type { UserQuery, Warehouse } from '../warehouses/warehouse.ts'

/** Seconds that a count may take: it is good to know, no more. */
const patience = 5

/** How many rows a query has that ran just now; undefined where that takes long or cannot be asked. */
export async function countRows(
  warehouse: Pick<Warehouse, 'query'>,
  query: UserQuery,
  signal: AbortSignal,
): Promise<number | undefined> {
  // A comment in the last line must not swallow the bracket.
  const text = `select count(*) from (\n${withoutEnd(query.text)}\n) as violations`
  const counted = await warehouse
    .query({ ...query, text, limits: { rows: 1, seconds: patience } }, signal)
    .catch(() => undefined)
  signal.throwIfAborted()
  const count = Number(counted?.rows[0]?.[0])
  return Number.isSafeInteger(count) ? count : undefined
}
