import { type Client, type CustomTypesConfig, type FieldDef, Query, type QueryConfig, types } from 'pg'
import { parseJsonCell } from '../../rows/row-text.ts'
import type { RowCell, WarehouseColumn } from '../../warehouse.ts'
import { destroySocket } from '../postgres-connections.ts'

/** A type parser that returns every value as PostgreSQL's text. `toCell` later converts numbers. */
const asText: CustomTypesConfig = { getTypeParser: () => (text: unknown) => text } as CustomTypesConfig

/**
 * Returns the statement that begins a read-only transaction of role `read`, with short time-outs and fixed text
 * formats.
 */
export function beginReading({ searchPath, idle }: { searchPath: string; idle: number }): string {
  return `begin isolation level repeatable read read only;
    set local lock_timeout = '5s'; set local idle_in_transaction_session_timeout = '${idle}s';
    set local search_path = ${searchPath};
    set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local extra_float_digits = 1;
    set local max_parallel_workers_per_gather = 0`
}

/**
 * Closes the connection with a protocol message. If only the socket were closed, the server would log an unexpected end
 * for every page.
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

/**
 * Runs one statement and returns its rows. Uses the extended protocol, which rejects several statements in one text.
 */
export async function executeOne(
  client: Client,
  text: string,
  values: readonly (string | null)[] = [],
  texts: ReadonlySet<number> = new Set(),
): Promise<Record<string, unknown>[]> {
  // node-postgres sends an array of type OIDs to the server, and uses the same object to parse the results.
  const wanted = Object.assign(
    values.map((value, index) => (texts.has(index) ? unspecified : parameterOid(value))),
    { getTypeParser: types.getTypeParser.bind(types) },
  )
  const query = { text, values: [...values], types: wanted, queryMode: 'extended' }
  return (await client.query<Record<string, unknown>>(query as unknown as QueryConfig)).rows
}

const [unspecified, integer, bigint, numeric] = [0, 23, 20, 1700]

/**
 * Returns the type OID of a parameter value. A number gets a numeric type, so that `column > 500` compares numbers,
 * never texts. For other values, including numbers with leading zeros, the server infers the type from the query.
 */
function parameterOid(value: string | null): number {
  if (value === null || !/^-?(0|[1-9]\d{0,30})(\.\d{1,30})?$/.test(value)) return unspecified
  if (value.includes('.')) return numeric
  const size = BigInt(value)
  if (BigInt.asIntN(32, size) === size) return integer
  return BigInt.asIntN(64, size) === size ? bigint : numeric
}

export interface FetchedRows {
  fields: FieldDef[]
  rows: (string | null)[][]
  /** True if the byte limit ended the page. The connection has then been closed. */
  truncated: boolean
}

/** The number of rows of the first FETCH: the usual page size. */
const firstBatch = 100

/**
 * Fetches `count` rows of the cursor `page` in batches, and runs the statement `before` before each batch. Counts bytes
 * at the socket, so that even a huge row cannot fill this process's memory. The server buffers all rows of a FETCH
 * before it sends the first, so each batch requests only about as many rows as still fit into `maximumBytes`.
 */
export async function fetchRows(
  client: Client,
  count: number,
  maximumBytes: number,
  before?: string,
): Promise<FetchedRows> {
  const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection
  const fetched: FetchedRows = { fields: [], rows: [], truncated: false }
  let bytes = 0
  const countBytes = (chunk: Buffer) => {
    bytes += chunk.byteLength
    if (bytes <= maximumBytes || fetched.truncated) return
    fetched.truncated = true
    destroySocket(client)
  }
  stream.on('data', countBytes)
  try {
    for (let [batch, rowsLeft] = [firstBatch, count]; rowsLeft > 0; ) {
      const rowsToFetch = Math.min(batch, rowsLeft)
      const rowsBefore = fetched.rows.length
      if (before) await client.query(before)
      await fetchBatch(client, rowsToFetch, fetched)
      if (fetched.truncated || fetched.rows.length < rowsBefore + rowsToFetch) break
      rowsLeft -= rowsToFetch
      const remainingRows = Math.ceil((maximumBytes - bytes) / (bytes / fetched.rows.length))
      batch = Math.max(1, remainingRows)
    }
  } finally {
    stream.off('data', countBytes)
  }
  return fetched
}

function fetchBatch(client: Client, rowsToFetch: number, into: FetchedRows): Promise<void> {
  return new Promise<void>((resolve, reject) => {
    const text = `fetch forward ${rowsToFetch} from page`
    const query = client.query(new Query({ text, rowMode: 'array', types: asText, queryMode: 'extended' } as never))
    query.on('row', (row, result) => {
      into.fields = result!.fields
      into.rows.push(row as unknown as (string | null)[])
    })
    query.on('end', (result) => {
      into.fields = result.fields
      resolve()
    })
    query.on('error', (error) => (into.truncated ? resolve() : reject(error)))
  })
}

const numericDataTypes = new Set(['SMALLINT', 'INTEGER', 'FLOAT', 'DOUBLE'])

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
