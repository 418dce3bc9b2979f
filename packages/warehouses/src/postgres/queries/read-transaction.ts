import {
  type Client,
  type ClientBase,
  type CustomTypesConfig,
  escapeIdentifier,
  type FieldDef,
  Query,
  type QueryConfig,
  types,
} from 'pg'
import { parseJsonCell } from '../../rows/json-cell.ts'
import type { RowCell, WarehouseColumn } from '../../warehouse.ts'
import { destroySocket } from '../postgres-connections.ts'

/** The option `types` of a query that returns every value as PostgreSQL's text. `toCell` later converts the texts. */
const asText: CustomTypesConfig = { getTypeParser: () => (text: unknown) => text } as CustomTypesConfig

/**
 * Returns the search path for a user's query. Without schemas, only the server's own objects have unqualified names.
 */
export const formatSearchPath = (schemas: readonly string[]): string =>
  schemas.map((name) => escapeIdentifier(name)).join(', ') || 'pg_catalog'

/**
 * Returns the statements that begin a read-only transaction of role `read`, with short time-outs and fixed text
 * formats. `idle` is the time-out, in seconds, while the transaction waits for this process.
 */
export function beginReading({ searchPath, idle }: { searchPath: string; idle: number }): string {
  return `begin isolation level repeatable read read only;
    set local lock_timeout = '5s'; set local idle_in_transaction_session_timeout = '${idle}s';
    set local search_path = ${searchPath};
    set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local extra_float_digits = 1;
    set local max_parallel_workers_per_gather = 0`
}

/**
 * An empty query, which takes the snapshot of the transaction. From then on, users' SQL can no longer change the
 * transaction to READ WRITE or to another isolation level.
 */
export const takeSnapshot = 'select'

/**
 * Closes the connection with a protocol message, and after one second at the socket. If only the socket were closed,
 * the server would log an unexpected end for every page. Never throws.
 */
export async function endReadSession(client: Client): Promise<void> {
  const timer = setTimeout(() => destroySocket(client), 1_000)
  await client
    .query('rollback')
    .then(() => client.end())
    .catch(() => {})
  clearTimeout(timer)
  destroySocket(client)
}

/** True if the connection is in a transaction that has not failed. */
export const isInTransaction = (client: Pick<ClientBase, 'getTransactionStatus'>): boolean =>
  client.getTransactionStatus() === 'T'

/**
 * Runs one statement and returns its rows. Throws if `text` consists of several statements, because the extended
 * protocol rejects them.
 *
 * - `values` are the values of the parameters `$1`, `$2`, ….
 * - `textIndexes` has the indexes, from 0, of those values that are text even if they look like numbers.
 */
export async function executeSingleStatement(
  client: ClientBase,
  text: string,
  values: readonly (string | null)[] = [],
  textIndexes: ReadonlySet<number> = new Set(),
): Promise<Record<string, unknown>[]> {
  const parameterOids = values.map((value, index) => (textIndexes.has(index) ? unspecifiedOid : parameterOid(value)))
  const query = { text, values: [...values], types: queryTypes(parameterOids), queryMode: 'extended' }
  const { rows } = await client.query<Record<string, unknown>>(query as unknown as QueryConfig)
  return rows
}

/**
 * Returns the option `types` of a query with these parameter types. node-postgres uses the option for two purposes: it
 * sends the elements of the array to the server as the types of the parameters, and it parses the result with the
 * array's method `getTypeParser`.
 */
function queryTypes(parameterOids: number[]): number[] & Pick<typeof types, 'getTypeParser'> {
  return Object.assign(parameterOids, { getTypeParser: types.getTypeParser.bind(types) })
}

/** Type OIDs, which are the same on every server. The server infers an unspecified type from the query. */
const unspecifiedOid = 0
const integerOid = 23
const bigintOid = 20
const numericOid = 1700

/**
 * Returns the type OID of a parameter value. A number gets a numeric type, so that `column > 500` compares numbers,
 * never texts. For other values, including numbers with leading zeros, the server infers the type from the query.
 */
function parameterOid(value: string | null): number {
  if (value === null || !/^-?(0|[1-9]\d{0,30})(\.\d{1,30})?$/.test(value)) return unspecifiedOid
  if (value.includes('.')) return numericOid
  const number = BigInt(value)
  const fitsInteger = BigInt.asIntN(32, number) === number
  if (fitsInteger) return integerOid
  const fitsBigint = BigInt.asIntN(64, number) === number
  return fitsBigint ? bigintOid : numericOid
}

export interface FetchedRows {
  fields: FieldDef[]
  rows: (string | null)[][]
  /** True if the byte limit ended the page. The connection has then been closed. */
  truncated: boolean
}

/** The number of rows of the first FETCH: the usual page size. */
const firstBatchRows = 100

/**
 * Fetches at most `maxRows` rows of the cursor `page` in batches. Runs the statement `beforeBatch`, if any, before each
 * batch. If more than `maxBytes` bytes arrive, closes the connection and returns the complete rows as `truncated`.
 * Counts bytes at the socket, so that even a huge row cannot fill this process's memory. The server buffers all rows of
 * a FETCH before it sends the first one, so each batch requests only about as many rows as still fit.
 */
export async function fetchRows(
  client: Client,
  maxRows: number,
  maxBytes: number,
  beforeBatch?: string,
): Promise<FetchedRows> {
  const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection
  const fetched: FetchedRows = { fields: [], rows: [], truncated: false }
  let bytes = 0
  const closeBeyondLimit = (chunk: Buffer) => {
    bytes += chunk.byteLength
    const isFirstExcess = bytes > maxBytes && !fetched.truncated
    if (!isFirstExcess) return
    fetched.truncated = true
    destroySocket(client)
  }
  stream.on('data', closeBeyondLimit)
  try {
    let rowsThatFit = firstBatchRows
    while (fetched.rows.length < maxRows) {
      const rowsBefore = fetched.rows.length
      const rowsToFetch = Math.min(rowsThatFit, maxRows - rowsBefore)
      if (beforeBatch) await client.query(beforeBatch)
      await fetchBatch(client, rowsToFetch, fetched)
      const isCursorAtEnd = fetched.rows.length < rowsBefore + rowsToFetch
      if (fetched.truncated || isCursorAtEnd) break
      const bytesPerRow = bytes / fetched.rows.length
      rowsThatFit = Math.max(1, Math.ceil((maxBytes - bytes) / bytesPerRow))
    }
  } finally {
    stream.off('data', closeBeyondLimit)
  }
  return fetched
}

/**
 * Fetches at most `rowsToFetch` rows of the cursor `page` and appends them to `fetched.rows`. Also resolves if the
 * connection is closed because of the byte limit, which sets `fetched.truncated`.
 */
function fetchBatch(client: Client, rowsToFetch: number, fetched: FetchedRows): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const text = `fetch forward ${rowsToFetch} from page`
    const query = client.query(new Query({ text, rowMode: 'array', types: asText, queryMode: 'extended' } as never))
    query.on('row', (row, result) => {
      fetched.fields = result!.fields
      fetched.rows.push(row as unknown as (string | null)[])
    })
    query.on('end', (result) => {
      fetched.fields = result.fields
      resolve()
    })
    // Closing the connection at the byte limit ends the query with an error.
    query.on('error', (error) => (fetched.truncated ? resolve() : reject(error)))
  })
}

const numericDataTypes = new Set(['SMALLINT', 'INTEGER', 'FLOAT', 'DOUBLE'])

/** Converts the texts of fetched rows to the values that the API returns. */
export function toCells(rows: (string | null)[][], columns: readonly WarehouseColumn[]): RowCell[][] {
  return rows.map((row) => row.map((text, index) => toCell(text, columns[index]!)))
}

function toCell(text: string | null, { dataType }: WarehouseColumn): RowCell {
  if (text === null) return null
  if (dataType === 'BOOLEAN') return text === 't'
  if (dataType === 'JSONB') return parseJsonCell(text)
  if (!numericDataTypes.has(dataType)) return text
  const number = Number(text)
  // JSON cannot represent NaN and Infinity, so they become text.
  return Number.isFinite(number) ? number : text
}
