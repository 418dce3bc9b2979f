import { outgoingAllowed } from '@sluice/http-client'
import { openDestinations, type PushRequest } from '../../src/destinations/destinations.ts'
import type { PushReport, RejectedRow } from '../../src/destinations/push-report.ts'
import type { RowCell, QueryRows, WarehouseColumn } from '@sluice/warehouses/warehouse'
import { credentials, type Dhis2StandIn } from './dhis2-stand-in.ts'

/** Columns of a view: by name, and text where no type is said. */
export const columnsOf = (...names: string[]): WarehouseColumn[] =>
  names.map((given) => {
    const [name = '', dataType = 'TEXT'] = given.split(' ')
    return { name, label: name, dataType: dataType as WarehouseColumn['dataType'], primaryKey: false }
  })

export const usual = columnsOf('dataelement', 'period', 'orgunit', 'value')

interface Options extends Partial<PushRequest> {
  rows: readonly (readonly RowCell[])[]
  importTimeoutMs?: number
  signal?: AbortSignal
}

/** Pushes rows to a stand-in as a worker does. Returns the result and the log lines. */
export async function pushed(
  standIn: Pick<Dhis2StandIn, 'url'>,
  { rows, importTimeoutMs = 5_000, signal, ...push }: Options,
) {
  const destinations = openDestinations({ allowed: outgoingAllowed().parse('127.0.0.1'), importTimeoutMs })
  const rejected: RejectedRow[] = []
  const log: string[] = []
  const told = { rowsRead: 0, bytesRead: 0, rejected: 0 }
  const report: PushReport = {
    progress: (totals) => void Object.assign(told, totals),
    reject: (row) => void rejected.push(row),
    rejected: (count) => void (told.rejected = count),
    log: (_level, _importance, message) => void log.push(message),
  }
  const columns = push.columns ?? usual
  try {
    const result = await destinations.push(
      { target: { url: standIn.url, ...credentials }, options: {}, columns, pages: pagesOf(columns, rows), ...push },
      report,
      signal ?? new AbortController().signal,
    )
    return { result, rejected, log, told }
  } finally {
    await destinations.close()
  }
}

export async function* pagesOf(
  columns: QueryRows['columns'],
  rows: readonly (readonly RowCell[])[],
  size = 2_000,
): AsyncGenerator<QueryRows> {
  for (let at = 0; at < rows.length; at += size)
    yield {
      columns,
      rows: rows.slice(at, at + size).map((row) => [...row]),
      truncated: false,
      more: at + size < rows.length,
    }
}

/** So many rows that DHIS2 takes, of one data element. */
export const fine = (count: number, value: RowCell = 1): RowCell[][] =>
  Array.from({ length: count }, (_, index) => ['f7n9E0hX8qk', '202601', `unit${index}`, value])
