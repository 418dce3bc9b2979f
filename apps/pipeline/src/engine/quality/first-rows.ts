import { setTimeout as sleep } from 'node:timers/promises'
import { type Rows, type UserQuery, type Warehouse, WarehouseProblem } from '../warehouses/warehouse.ts'

interface First extends Pick<Rows, 'columns' | 'rows'> {
  /** There are no others. */
  whole: boolean
  /** There are none at all. Where not even one can be shown, there are some. */
  none: boolean
}

/**
 * The first rows of a query. While the client's other queries take all turns it waits, so many seconds: whoever has loaded
 * rows for an hour does not begin anew for that.
 */
export async function firstRows(
  warehouse: Pick<Warehouse, 'query'>,
  query: UserQuery,
  patience: number,
  signal: AbortSignal,
): Promise<First> {
  const end = performance.now() + patience * 1_000
  for (;;) {
    try {
      const { columns, rows, more, truncated } = await warehouse.query(query, signal)
      return { columns, rows, whole: !more && !truncated, none: rows.length === 0 }
    } catch (error) {
      if (!(error instanceof WarehouseProblem)) throw error
      if (error.code === 'ROW_TOO_LARGE') return { columns: [], rows: [], whole: false, none: false }
      if (error.code !== 'WAREHOUSE_BUSY' || performance.now() > end) throw error
      await sleep(1_000, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}
