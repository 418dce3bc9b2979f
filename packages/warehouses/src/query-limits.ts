import { Semaphore, SemaphoreBusy } from '@sluice/process'
import { type UserQuery, WarehouseProblem, busyProblem } from './warehouse.ts'

/** The default and maximum number of rows of a result. A query that requests more gets the maximum. */
export const maxQueryRows = 10_000
const maxQueryBytes = 32 * 1024 * 1024
export const defaultQueryBytes = 4 * 1024 * 1024
export const defaultQuerySeconds = 30
const maxQuerySeconds = 86_400
const defaultPushSeconds = 1_800

const maxSlotWaitMs = 15_000
const overloadTitle = 'Too many queries are running in this warehouse. Try again in a moment.'

/**
 * Limits users' concurrent queries in this process and shares them fairly among warehouses. A push of query results to
 * another system keeps its slot while that system is slow, so pushes have a limit of their own.
 */
const querySemaphores = {
  queries: new Semaphore({ total: 12, each: 3, waiting: 100, waitMs: maxSlotWaitMs, title: overloadTitle }),
  pushes: new Semaphore({ total: 16, each: 4, waiting: 100, waitMs: maxSlotWaitMs, title: overloadTitle }),
}

/**
 * Waits until the warehouse `key` may run one more query. Dispose the result when the query ends. Throws WAREHOUSE_BUSY
 * after 15 seconds, or at once if too many queries are waiting. Throws the signal's reason on abort.
 */
export async function acquireQuerySlot(
  kind: keyof typeof querySemaphores,
  key: string,
  signal?: AbortSignal,
): Promise<Disposable> {
  try {
    return await querySemaphores[kind].acquire(key, { signal })
  } catch (error) {
    if (!(error instanceof SemaphoreBusy)) throw error
    throw busyProblem(error.message)
  }
}

/** Returns the requested limits of a query with a single result, capped at the maximum. */
export function resolveQueryLimits({ rows, offset, bytes, seconds }: UserQuery['limits'] = {}) {
  return {
    rows: clampLimit(rows, maxQueryRows, maxQueryRows),
    offset: clampLimit(offset, Number.MAX_SAFE_INTEGER, 0),
    bytes: clampLimit(bytes, maxQueryBytes, defaultQueryBytes),
    seconds: clampSeconds(seconds, defaultQuerySeconds),
  }
}

/** Returns the limits of a query that is read completely, in pages of at most `pageRows` rows. */
export function resolvePageLimits(pageRows: number, { rows, offset, bytes, seconds }: UserQuery['limits'] = {}) {
  return {
    pageRows: Math.max(1, clampLimit(pageRows, maxQueryRows, maxQueryRows)),
    rows: clampLimit(rows, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    offset: clampLimit(offset, Number.MAX_SAFE_INTEGER, 0),
    bytes: clampLimit(bytes, maxQueryBytes, maxQueryBytes),
    seconds: clampSeconds(seconds, defaultPushSeconds),
  }
}

/** Returns the limits of an export. Exports all rows unless the query has a limit. */
export function resolveExportLimits({ rows, seconds }: UserQuery['limits'] = {}) {
  return {
    rows: clampLimit(rows, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    seconds: clampSeconds(seconds, defaultPushSeconds),
  }
}

/** Returns the time limit in seconds, at least 1, because 0 would mean unlimited. */
const clampSeconds = (seconds: number | undefined, defaultValue: number): number =>
  Math.max(1, clampLimit(seconds, maxQuerySeconds, defaultValue))

/** Rounds the requested number down and clamps it to 0…`maximum`. Returns `defaultValue` if nothing was requested. */
export function clampLimit(requested: number | undefined, maximum: number, defaultValue: number): number {
  return requested === undefined ? defaultValue : Math.min(maximum, Math.max(0, Math.trunc(requested)))
}

/** Skips the first `offset` rows of the batches and ends after `rows` further rows. */
export async function* limitRows<Row>(
  batches: AsyncIterable<{ rows: readonly Row[]; bytes: number }>,
  { offset, rows }: { offset: number; rows: number },
): AsyncGenerator<{ rows: Row[]; bytesPerRow: number }> {
  let rowsToSkip = offset
  let rowsLeft = rows
  for await (const batch of batches) {
    const batchRows = batch.rows.slice(rowsToSkip, rowsToSkip + rowsLeft)
    rowsToSkip = Math.max(0, rowsToSkip - batch.rows.length)
    rowsLeft -= batchRows.length
    yield { rows: batchRows, bytesPerRow: batch.bytes / Math.max(1, batch.rows.length) }
    if (rowsLeft <= 0) return
  }
}

export function rowTooLarge(bytes: number): WarehouseProblem {
  const limitText = `${Math.round(bytes / 1024 / 1024)} MB`
  return new WarehouseProblem(
    'ROW_TOO_LARGE',
    `One row of the result is larger than the limit of ${limitText}. Select fewer columns, or shorten its values.`,
  )
}

export function pageTooLarge(rows: number, bytes: number): WarehouseProblem {
  const limitText = `${Math.round(bytes / 1024 / 1024)} MB`
  return new WarehouseProblem(
    'RESULT_TOO_LARGE',
    `Together, ${rows} rows of the query exceed the limit of ${limitText}. Select fewer columns.`,
  )
}

/** Throws QUERY_FAILED for a text with a NUL character, which no server accepts. */
export function assertNoNulCharacter(text: string): void {
  if (text.includes('\0')) throw new WarehouseProblem('QUERY_FAILED', 'The query contains a NUL character. Remove it.')
}
