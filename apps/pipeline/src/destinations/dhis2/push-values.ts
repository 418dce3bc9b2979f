import type { RetryPolicy } from '@sluice/http-client'
import type { QueryRows } from '@sluice/warehouses/warehouse'
import { defaultRetryPolicy, retryRequest } from '../retry-push.ts'
import { type ChunkLimits, splitChunks, type ValueItem } from '../value-chunks.ts'
import { DestinationProblem } from '../destination-problem.ts'
import type { PushResult, PushReport, RejectedRow } from '../push-report.ts'
import type { ImportOptions } from '../push-target.ts'
import type { Dhis2Api } from './dhis2-client.ts'
import { mapFields } from './data-value-columns.ts'
import { listRejects, type ImportSummary } from './import-summary.ts'
import { type DataSetOf, readDataSets, oneDataSetRelease, canImportValues, readSystem } from './read-metadata.ts'
import { createRowConverter } from './convert-to-data-values.ts'
import { type DataSet, sendChunk } from './send-chunk.ts'

/** The limits of the first request. DHIS2 is designed for requests of 10,000 values, and most proxies accept 4 MB. */
const initialLimits: ChunkLimits = { values: 10_000, bytes: 4_000_000 }

interface PushOptions {
  dhis2: Dhis2Api
  options: ImportOptions
  /** The columns of the view, and its rows as pages. */
  columns: QueryRows['columns']
  pages: AsyncIterable<QueryRows>
  report: PushReport
  signal: AbortSignal
  limits?: ChunkLimits
  policy?: RetryPolicy
}

interface OutgoingValue extends ValueItem {
  dataSet: DataSet | undefined
}

/**
 * Sends the rows of a view as data values. Safe to repeat. Needs memory for one page and one chunk. Throws
 * `DestinationProblem`, the error of a failed page, or the signal's reason.
 */
export async function pushValues(pushing: PushOptions): Promise<PushResult> {
  const { dhis2, options, columns, pages, report, signal, policy = defaultRetryPolicy } = pushing
  const mappedColumns = mapFields(columns)
  const limits = { ...(pushing.limits ?? initialLimits) }
  const { log } = report
  const retryOptions = { policy, signal, log }
  const system = await retryRequest(() => readSystem(dhis2, signal), retryOptions)
  if (!canImportValues(system))
    throw new DestinationProblem(
      'PERMISSION_DENIED',
      `The user "${system.username}" of DHIS2 lacks the authority to import data values. Grant F_DATAVALUE_ADD in DHIS2.`,
    )
  log('INFO', 'LOW', `DHIS2 ${system.version} answers, as user "${system.username}".`)
  // If the view has a column for the data set, use its values.
  const mustGroup = system.release >= oneDataSetRelease && !mappedColumns.indexByField.has('dataSet')
  const dataSetOf = mustGroup ? await retryRequest(() => readDataSets(dhis2, options, signal), retryOptions) : undefined
  const { unmappedColumns } = mappedColumns
  if (unmappedColumns.length > 0)
    log(
      'INFO',
      'LOW',
      `These columns are not sent, because data values have no such fields: ${unmappedColumns.slice(0, 20).join(', ')}.`,
    )

  const pushed: PushResult = {
    rows: 0,
    sent: 0,
    bytes: 0,
    empty: 0,
    rejected: 0,
    firstRejected: undefined,
    imported: 0,
    updated: 0,
    ignored: 0,
    deleted: 0,
    warning: undefined,
  }
  const reject = (row: RejectedRow) => {
    pushed.firstRejected ??= `row ${row.line}: ${row.reason}`
    report.reject(row)
  }
  const reportTotals = () => {
    report.rejected(pushed.rejected)
    report.progress({ rowsRead: pushed.rows, bytesRead: pushed.bytes })
  }

  const onSent = (items: readonly ValueItem[], summary: ImportSummary, bytes: number) => {
    const { rows, rejected } = listRejects(summary, items, dhis2.redact)
    for (const row of rows) reject(row)
    pushed.sent += items.length
    pushed.bytes += bytes
    pushed.rejected += rejected
    for (const count of ['imported', 'updated', 'ignored', 'deleted'] as const) pushed[count] += summary[count]
    if (summary.status !== 'SUCCESS' && rows.length === 0)
      pushed.warning ??= dhis2.redact(summary.description ?? 'DHIS2 gives a warning without a description.')
    reportTotals()
  }
  const sending = { dhis2, options, policy, limits, signal, log, onSent }
  const readRow = createRowReader(createRowConverter(mappedColumns, columns), dataSetOf)
  const values = readValues(pages, { readRow, pushed, reject, reportTotals })
  for await (const chunk of splitChunks(values, () => limits)) {
    signal.throwIfAborted()
    for (const items of Map.groupBy(chunk, ({ dataSet }) => dataSet?.id).values())
      await sendChunk(sending, items, items[0]!.dataSet)
  }
  return pushed
}

interface ValueReader {
  readRow: ReturnType<typeof createRowReader>
  pushed: PushResult
  reject: PushReport['reject']
  reportTotals(): void
}

/**
 * Yields the values of the rows that can be sent. Counts all rows, the rows without a value and the rejected rows in
 * `pushed`, reports each rejected row, and reports the totals after each page.
 */
async function* readValues(
  pages: AsyncIterable<QueryRows>,
  { readRow, pushed, reject, reportTotals }: ValueReader,
): AsyncGenerator<OutgoingValue> {
  for await (const { rows } of pages) {
    for (const row of rows) {
      pushed.rows += 1
      const value = readRow(row, pushed.rows)
      if (value === 'EMPTY') pushed.empty += 1
      else if ('reason' in value) {
        pushed.rejected += 1
        reject(value)
      } else yield value
    }
    reportTotals()
  }
}

/** Returns a function that converts a row to a value and its data set, or to a rejected row. */
const createRowReader =
  (convert: ReturnType<typeof createRowConverter>, dataSetOf: DataSetOf | undefined) =>
  (row: QueryRows['rows'][number], line: number): OutgoingValue | 'EMPTY' | RejectedRow => {
    const converted = convert(row)
    if (converted === 'EMPTY') return converted
    const { dataSet: dataSetOfRow, ...value } = converted.value
    const json = JSON.stringify(value)
    if ('reason' in converted) return { line, column: converted.column, reason: converted.reason, raw: json }
    if (!dataSetOf) return { line, json, dataSet: dataSetOfRow === undefined ? undefined : { id: dataSetOfRow } }
    const id = dataSetOf(value.dataElement!)
    const reason = `Data element ${value.dataElement} is in no data set that the DHIS2 user can read. Add it to one.`
    return id === undefined
      ? { line, column: 'dataElement', reason, raw: json }
      : { line, json, dataSet: { id, idScheme: 'UID' } }
  }
