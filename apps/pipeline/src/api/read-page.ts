import type { DataQuery, QueryResult } from '@sluice/contracts'
import { Problem, type RequestFacts } from '@sluice/http-server'
import type { Warehouse, WarehouseTable } from '@sluice/warehouses/warehouse'
import { whileConnected } from './while-connected.ts'
import { shares } from './shares.ts'
import { presentTable, type TableLabels } from './present-table.ts'

/** Milliseconds: a little more than the query timeout of the server. */
const longest = 35_000

/** A table or view of a warehouse, and the name it is shown under. */
interface ReadableTable {
  warehouse: Warehouse
  table: WarehouseTable
  shown: TableLabels
}

/**
 * Reads a page of the rows of a table or view, in its own order. Throws a problem rather than returning fewer rows. Aborts when the
 * caller disconnects. `find` runs in the slot of the page, because it queries the warehouse.
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
      const { columns, rows, truncated } = await warehouse.queries.readTable(table.schema, table.name, range, {
        signal,
      })
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

export const tooSlow = (): never => {
  throw new Problem(422, 'query-timeout', 'The warehouse rejected the request.', {
    detail: 'Reading the page took too long and was stopped. Ask for fewer rows, or make the view materialised.',
  })
}

/** The problem of a page that is too large. With fewer rows, the next page would skip some. */
export const pageTooLarge = (pageSize: number, fits: number) =>
  new Problem(422, 'page-too-large', 'The page is too large.', {
    detail: `${pageSize} rows of this table are more than 4 MB, the limit of one response. Use pageSize=${fits} or less.`,
  })
