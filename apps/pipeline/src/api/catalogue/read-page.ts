import type { DataQuery, QueryResult } from '@sluice/contracts'
import { Problem, type RequestFacts } from '@sluice/http'
import type { Warehouse, WarehouseTable } from '../../engine/warehouses/warehouse.ts'
import { whileConnected } from '../data-pipelines/while-connected.ts'
import { shares } from '../shares.ts'
import { presentTable, type TableLabels } from './present-table.ts'

/** Milliseconds: the server's time for a page and a little more. */
const longest = 35_000

/** A table or view of a warehouse, and the name it is shown under. */
interface ReadableTable {
  warehouse: Warehouse
  table: WarehouseTable
  shown: TableLabels
}

/**
 * A page of the rows of a table or view, in its own order: all of its rows, or a problem. Dropped when the caller leaves. `find` runs in
 * the caller's share, because it queries the warehouse.
 */
export function readPage(
  { query, request, caller }: { query: DataQuery; request: Pick<RequestFacts, 'stream'>; caller: { client: string } },
  find: () => Promise<ReadableTable>,
): Promise<QueryResult> {
  const { page = 1, pageSize = 100 } = query
  return whileConnected(
    { socket: request.stream.socket, queue: shares.pages.queueOf(caller.client), longest, late: tooSlow },
    async (signal) => {
      const { warehouse, table, shown } = await find()
      const start = new Date()
      const range = { limit: pageSize, offset: (page - 1) * pageSize }
      const { columns, rows, truncated } = await warehouse.readTable(table.schema, table.name, range, { signal })
      if (truncated) throw pageTooLarge(pageSize, rows.length)
      return {
        ...presentTable(table, shown),
        queryStartTime: start.toISOString(),
        queryDuration: Date.now() - start.getTime(),
        rows,
        height: rows.length,
        width: columns.length,
      }
    },
  )
}

/** Said of a page that takes too long. */
export const tooSlow = (): never => {
  throw new Problem(422, 'query-timeout', 'The warehouse refused.', {
    detail: 'Reading the page took too long and was stopped. Ask for fewer rows, or make the view materialised.',
  })
}

/** Fewer rows would make the next page skip some. */
export const pageTooLarge = (asked: number, fits: number) =>
  new Problem(422, 'page-too-large', 'The page is too large.', {
    detail: `${asked} rows of this table are more than 4 MB, the most that is answered at once. Ask for pageSize=${fits} or less.`,
  })
