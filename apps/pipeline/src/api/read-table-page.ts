import { type DataQuery, exportMediaTypes, findExportFormat, type QueryResult } from '@sluice/contracts'
import { createValuePrinter } from '@sluice/file-formats/export/values-in-source-format'
import { type FileDownload, Problem, problems } from '@sluice/http-server'
import { type ExportChoice, exportFile } from '../exports/export-file.ts'
import type { RequestContext } from './operation-context.ts'
import type { RowCell, Warehouse, WarehouseTable } from '@sluice/warehouses/warehouse'
import { runWhileConnected } from './abort-on-disconnect.ts'
import { requestSlots } from './concurrency-limits.ts'
import { presentTable, type TableLabels } from './table-responses.ts'

/**
 * The time for which a page may hold its slot, in milliseconds. It is slightly longer than the query timeout of the
 * warehouse.
 */
const pageTimeoutMs = 35_000

/** A table or view of a warehouse, with its labels for the response. */
interface ReadableTable {
  warehouse: Warehouse
  table: WarehouseTable
  labels: TableLabels
  /** The uid of the pipeline, view or dataset; null if none of these created the table. */
  object: string | null
}

type RowsInput = Pick<RequestContext, 'request' | 'caller' | 'exports' | 'db'> & { query: DataQuery }

/**
 * Reads a page of a table or view in stored order, or exports all rows as a file if the request prefers one. Throws a
 * problem if the page is too large for a response. Aborts when the caller disconnects. Calls `findTable` in the slot of
 * the read, because it queries the warehouse too. `operation` is the id of the operation, for the audit log.
 */
export function answerRows(
  operation: string,
  input: RowsInput,
  findTable: () => Promise<ReadableTable>,
): Promise<QueryResult | FileDownload> {
  const exportChoice = chooseExport(input.query, input.request.acceptedType)
  return exportChoice ? exportTable(operation, input, exportChoice, findTable) : readPage(input, findTable)
}

const exportTable = (
  operation: string,
  input: RowsInput,
  exportChoice: ExportChoice,
  findTable: () => Promise<ReadableTable>,
): Promise<FileDownload> =>
  exportFile({ ...input, operation }, exportChoice, async () => {
    const { warehouse, table, object, labels } = await whileReading(input, findTable)
    const source = { table: { schema: table.schema, name: table.name } }
    return {
      open: (...rest) => warehouse.queries.exportRows(source, ...rest),
      readSourceFormats: async () => listSourceFormats(await warehouse.catalog.findTable(table.schema, table.name)),
      object,
      details: { schema: table.schema, name: table.name },
      fileName: labels.displayName ?? table.name,
    }
  })

function readPage(input: RowsInput, findTable: () => Promise<ReadableTable>): Promise<QueryResult> {
  const { page = 1, pageSize = 100, sourceFormats = false } = input.query
  return whileReading(input, async (signal) => {
    const { warehouse, table, labels } = await findTable()
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
      rows: sourceFormats ? formatCells(rows, columns, listSourceFormats(table)) : rows,
      height: rows.length,
      width: columns.length,
    }
  })
}

const listSourceFormats = (table: WarehouseTable | undefined): ReadonlyMap<string, string> =>
  new Map(
    table?.columns.flatMap(({ name, sourceFormat }) => (sourceFormat === undefined ? [] : [[name, sourceFormat]])),
  )

/**
 * Returns the rows with the cells of some columns as text in the format of the source, for example `31.12.2020`. These
 * are the columns with an entry in `formats`.
 */
function formatCells(
  rows: readonly RowCell[][],
  columns: readonly { name: string }[],
  formats: ReadonlyMap<string, string>,
): RowCell[][] {
  const printers = columns.map(({ name }) => {
    const format = formats.get(name)
    return format === undefined ? undefined : createValuePrinter(format)
  })
  return rows.map((row) =>
    row.map((cell, index) => {
      const isPrintable = cell !== null && typeof cell !== 'object'
      return isPrintable ? (printers[index]?.(String(cell)) ?? cell) : cell
    }),
  )
}

/** Runs `callback` in a slot for pages. Aborts it when the caller disconnects, and when it takes too long. */
const whileReading = <T>({ request, caller }: RowsInput, callback: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  runWhileConnected(
    {
      request,
      queue: requestSlots.pages.queueOf(caller.client),
      timeoutMs: pageTimeoutMs,
      onTimeout: throwPageTimeout,
    },
    callback,
  )

/**
 * Returns the export format that a request chooses; undefined for a page. Throws 406 for an unknown format, and 400 if
 * the request asks for both a file and a page.
 */
export function chooseExport(
  { format: text, dialect = 'rfc4180', sourceFormats = false, page, pageSize }: DataQuery,
  acceptedType: string,
): ExportChoice | undefined {
  const format = findExportFormat(text ?? acceptedType)
  if (!format) throw problems.notAcceptable(...Object.keys(exportMediaTypes))
  if (dialect === 'excel' && format !== 'csv')
    throw problems.refused('/dialect', 'Only format=csv has the dialect excel. Add format=csv, or leave dialect out.')
  if (sourceFormats && (dialect === 'excel' || (format !== 'csv' && format !== 'json')))
    throw problems.refused(
      '/sourceFormats',
      'Only format=csv without a dialect, and pages, have values in source formats. Leave sourceFormats out, or change the format.',
    )
  if (format === 'json') return undefined
  if (page !== undefined || pageSize !== undefined)
    throw problems.refused('/page', 'A file has all rows. Leave page and pageSize out, or request format=json.')
  return { format, dialect, sourceFormats }
}

/**
 * Runs `start`, which resolves when the first rows arrive. Aborts it with a problem after `seconds`. Reading the other
 * rows has no timeout.
 */
export async function startWithTimeout<T>(
  seconds: number,
  signal: AbortSignal,
  start: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(firstRowsTimeout(seconds)), seconds * 1_000)
  try {
    return await start(AbortSignal.any([signal, timeout.signal]))
  } finally {
    clearTimeout(timer)
  }
}

const firstRowsTimeout = (seconds: number) =>
  new Problem(422, 'query-timeout', 'The warehouse rejected the request.', {
    detail: `The query returned no row within ${seconds} seconds and was stopped. Add a filter or simplify the query.`,
  })

export const notLoadedYet = (detail: string) => new Problem(404, 'not-found', 'Not found.', { detail })

export const throwPageTimeout = (): never => {
  throw new Problem(422, 'query-timeout', 'The warehouse rejected the request.', {
    detail: 'Reading the page took too long and was stopped. Request fewer rows, or make the view materialised.',
  })
}

/**
 * Returns the problem for a page that is too large. The page must not simply have fewer rows, because the next page
 * would then skip some.
 */
export const pageTooLargeProblem = (pageSize: number, fittingRows: number) =>
  new Problem(422, 'page-too-large', 'The page is too large.', {
    detail: `${pageSize} rows of this table are more than 4 MB, the limit of one response. Use pageSize=${fittingRows} or less.`,
  })
