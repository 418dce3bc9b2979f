import type { DataQuery, QueryResult } from '@sluice/contracts'
import { Problem } from '@sluice/http'
import type { Warehouse, WarehouseTable } from '../../engine/warehouses/warehouse.ts'
import { reading } from '../data-pipelines/reading-queue.ts'
import { presentTable, type Shown } from './present-table.ts'

/** A page of the rows of a table or view, in its own order: all of its rows, or a problem. */
export async function readPage(
  warehouse: Warehouse,
  table: WarehouseTable,
  { page = 1, pageSize = 100 }: DataQuery,
  shown: Shown,
): Promise<QueryResult> {
  const start = new Date()
  const { columns, rows, truncated } = await reading(() =>
    warehouse.readTable(table.schema, table.name, { limit: pageSize, offset: (page - 1) * pageSize }),
  )
  if (truncated) throw pageTooLarge(pageSize, rows.length)
  return {
    ...presentTable(table, shown),
    queryStartTime: start.toISOString(),
    queryDuration: Date.now() - start.getTime(),
    rows,
    height: rows.length,
    width: columns.length,
  }
}

/** Fewer rows would make the next page skip some. */
export const pageTooLarge = (asked: number, fits: number) =>
  new Problem(422, 'page-too-large', 'The page is too large.', {
    detail: `${asked} rows of this table are more than 4 MB, the most that is answered at once. Ask for pageSize=${fits} or less.`,
  })
