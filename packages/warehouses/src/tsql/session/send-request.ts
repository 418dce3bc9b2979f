import { type Connection, Request, TYPES } from 'tedious'
import type { ColumnDescription } from './cells.ts'
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
  { signal, seconds }: RowBounds,
  listener: RequestListener = {},
): { request: Request; completion: Promise<void> } {
  signal?.throwIfAborted()
  const completion = Promise.withResolvers<void>()
  const request = new Request(
    formatStatement(statement, (number) => `@p${number}`),
    (error) => (error ? completion.reject(error) : completion.resolve()),
  )
  for (const [index, value] of statement.values.entries())
    request.addParameter(`p${index + 1}`, parameterType(value), value)
  if (listener.columns)
    request.on('columnMetadata', (columns) => listener.columns!(columns as unknown as DriverCell['metadata'][]))
  if (listener.row) request.on('row', (cells) => listener.row!(cells as unknown as DriverCell[]))
  // A statement on a lost connection would otherwise end silently. The code is the driver's code of connection errors.
  const rejectAsLost = () => completion.reject(Object.assign(new Error('Connection lost'), { code: 'ESOCKET' }))
  const stop = () => request.cancel()
  // The driver's own timer stops at the first row, so it is not used.
  let hasTimedOut = false
  const onTimeout = () => {
    hasTimedOut = true
    request.cancel()
  }
  const timer = seconds === undefined ? undefined : setTimeout(onTimeout, seconds * 1_000)
  connection.once('end', rejectAsLost)
  signal?.addEventListener('abort', stop, { once: true })
  if (statement.values.length === 0) connection.execSqlBatch(request)
  else connection.execSql(request)
  const finishedRequest = completion.promise
    .catch((error: unknown) => {
      signal?.throwIfAborted()
      if (hasTimedOut) throw Object.assign(new Error('The time of the statement is over.'), { code: 'ETIMEOUT' })
      throw error
    })
    .finally(() => {
      clearTimeout(timer)
      connection.off('end', rejectAsLost)
      signal?.removeEventListener('abort', stop)
    })
  return { request, completion: finishedRequest }
}
