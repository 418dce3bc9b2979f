import type { DataQuery, QueryResult } from '@sluice/contracts'
import { Problem, type RequestFacts } from '@sluice/http-server'
import type { Warehouse, WarehouseTable } from '@sluice/warehouses/warehouse'
import { whileConnected } from './abort-on-disconnect.ts'
import { readSlots } from './read-concurrency-limits.ts'
import { presentTable, type TableLabels } from './table-responses.ts'

/** A little more than the query timeout of the warehouse. */
const pageTimeoutMs = 35_000

/** A table or view of a warehouse, and its labels in the response. */
interface ReadableTable {
  warehouse: Warehouse
  table: WarehouseTable
  labels: TableLabels
}

/**
 * Reads a page of rows of a table or view, in their stored order. Throws a problem if the page is too large for a response. Aborts when
 * the caller disconnects. `find` also runs in the semaphore's slot, because it queries the warehouse.
 */
export function readPage(
  { query, request, caller }: { query: DataQuery; request: Pick<RequestFacts, 'stream'>; caller: { client: string } },
  find: () => Promise<ReadableTable>,
): Promise<QueryResult> {
  const { page = 1, pageSize = 100 } = query
  return whileConnected(
    { request, queue: readSlots.pages.queueOf(caller.client), timeoutMs: pageTimeoutMs, onTimeout: throwPageTimeout },
    async (signal) => {
      const { warehouse, table, labels } = await find()
      const start = new Date()
      const range = { limit: pageSize, offset: (page - 1) * pageSize }
      const { columns, rows, truncated } = await warehouse.queries.readTable(table.schema, table.name, range, {
        signal,
      })
      if (truncated) throw pageTooLargeProblem(pageSize, rows.length)
      return {
        ...presentTable(table, labels),
        queryStartTime: start.toISOString(),
        queryDuration: Date.now() - start.getTime(),
        rows,
        height: rows.length,
        width: columns.length,
      }
    },
  )
}

export const notLoadedYet = (detail: string) => new Problem(404, 'not-found', 'Not found.', { detail })

export const throwPageTimeout = (): never => {
  throw new Problem(422, 'query-timeout', 'The warehouse refused.', {
    detail: 'Reading the page took too long and was stopped. Request fewer rows, or make the view materialised.',
  })
}

/** Returns the problem of a page that is too large. If the page had fewer rows instead, the next page would skip some. */
export const pageTooLargeProblem = (pageSize: number, fittingRows: number) =>
  new Problem(422, 'page-too-large', 'The page is too large.', {
    detail: `${pageSize} rows of this table are more than 4 MB, the limit of one response. Use pageSize=${fittingRows} or less.`,
  })
