import { type Connection, Request, TYPES } from 'tedious'
import type { ColumnDescription } from './cell-reader.ts'
import { type SqlStatement, formatStatement, type BoundValue } from '../../sql-warehouse/sql-statement.ts'

/** A value from the driver with the description of its column. */
export interface DriverCell {
  value: unknown
  metadata: ColumnDescription
}

/** The abort signal and the time limit of a statement. */
export interface RowBounds {
  signal?: AbortSignal | undefined
  seconds?: number | undefined
}

/** Called with the columns and with each row as they arrive. */
export interface RequestListener {
  columns?(columns: readonly DriverCell['metadata'][]): void
  row?(cells: readonly DriverCell[]): void
}

/** Returns the driver's type with which a value is bound. */
function parameterType(value: BoundValue) {
  if (typeof value === 'boolean') return TYPES.Bit
  if (typeof value !== 'number') return TYPES.NVarChar
  return Number.isInteger(value) ? TYPES.BigInt : TYPES.Float
}

/**
 * Sends one statement. Returns the driver's request, which can be paused and cancelled, and a promise for its end. The
 * promise rejects with the signal's reason on abort, with code ETIMEOUT after the time limit, and with code ESOCKET if
 * the connection is lost. Throws at once if the signal is already aborted. A statement without values is sent as a
 * batch, which the server requires for some statements.
 */
export function sendRequest(
  connection: Connection,
  statement: SqlStatement,
  bounds: RowBounds,
  listener: RequestListener = {},
): { request: Request; completion: Promise<void> } {
  bounds.signal?.throwIfAborted()
  const completion = Promise.withResolvers<void>()
  const request = createRequest(statement, listener, (error) =>
    error ? completion.reject(error) : completion.resolve(),
  )
  const cancellation = cancelAtBounds(request, bounds)
  // A statement on a lost connection would otherwise end silently. The code is the driver's code of connection errors.
  const rejectAsLost = () => completion.reject(Object.assign(new Error('Connection lost'), { code: 'ESOCKET' }))
  connection.once('end', rejectAsLost)
  if (statement.values.length === 0) connection.execSqlBatch(request)
  else connection.execSql(request)
  const finishedRequest = completion.promise
    .catch((error: unknown) => {
      cancellation.throwIfCancelled()
      throw error
    })
    .finally(() => {
      cancellation.stop()
      connection.off('end', rejectAsLost)
    })
  return { request, completion: finishedRequest }
}

/** Creates the driver's request with its parameters `@p1`, `@p2`, …. The driver calls `onEnd` when it ends. */
function createRequest(
  statement: SqlStatement,
  { columns: onColumns, row: onRow }: RequestListener,
  onEnd: (error: Error | null | undefined) => void,
): Request {
  const request = new Request(
    formatStatement(statement, (number) => `@p${number}`),
    onEnd,
  )
  for (const [index, value] of statement.values.entries())
    request.addParameter(`p${index + 1}`, parameterType(value), value)
  if (onColumns) request.on('columnMetadata', (columns) => onColumns(columns as unknown as DriverCell['metadata'][]))
  if (onRow) request.on('row', (cells) => onRow(cells as unknown as DriverCell[]))
  return request
}

/**
 * Cancels the request when the signal aborts or the time is over, until `stop` is called. `throwIfCancelled` throws the
 * reason of the cancellation: the signal's reason, or an error with the driver's code ETIMEOUT.
 */
function cancelAtBounds(request: Request, { signal, seconds }: RowBounds) {
  let hasTimedOut = false
  const cancel = () => request.cancel()
  const cancelAsTimedOut = () => {
    hasTimedOut = true
    request.cancel()
  }
  // The driver's own timer stops at the first row, so it is not used.
  const timer = seconds === undefined ? undefined : setTimeout(cancelAsTimedOut, seconds * 1_000)
  signal?.addEventListener('abort', cancel, { once: true })
  return {
    throwIfCancelled() {
      signal?.throwIfAborted()
      if (hasTimedOut) throw Object.assign(new Error('The time of the statement is over.'), { code: 'ETIMEOUT' })
    },
    stop() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', cancel)
    },
  }
}
