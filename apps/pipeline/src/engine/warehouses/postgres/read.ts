import { type Client, type CustomTypesConfig, escapeIdentifier, Query } from 'pg'
import { type Cell, type Rows, type WarehouseColumn, WarehouseProblem } from '../warehouse.ts'
import { cut, readClient, type WarehouseAccess } from './access.ts'
import { describeColumn } from './catalogue.ts'
import { checkSchemaName, checkTableName, qualified } from './names.ts'
import { warehouseProblem } from './problems.ts'
import { readShape } from './shape.ts'

const maximumRows = 10_000
const maximumBytes = 4 * 1024 * 1024

/** Everything as the text PostgreSQL sends; `toCell` decides what becomes a number. */
const asText: CustomTypesConfig = { getTypeParser: () => (text: unknown) => text } as CustomTypesConfig

/**
 * A page of a table as role `read`, on a connection of its own that is thrown away. The order is the table's own: rows
 * as they were loaded, the same for every page, because nothing scans in parallel or joins another's scan midway.
 */
export async function readTable(
  access: WarehouseAccess,
  schema: string,
  table: string,
  page: { limit: number; offset: number },
): Promise<Rows> {
  checkSchemaName(schema)
  checkTableName(table)
  const place = qualified(schema, table)
  const client = readClient(access)
  try {
    await client.connect()
    await client.query(
      `begin isolation level repeatable read read only;
       set local statement_timeout = '30s'; set local lock_timeout = '5s';
       set local idle_in_transaction_session_timeout = '30s'; set local search_path = pg_catalog;
       set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local extra_float_digits = 1;
       set local synchronize_seqscans = off; set local max_parallel_workers_per_gather = 0`,
    )
    const shape = await readShape(client, schema, table)
    if (!shape) throw new WarehouseProblem('TABLE_MISSING', `${place} does not exist. Load it first.`)
    const columns = shape.columns.map(describeColumn)
    const list = columns.map(({ name }) => escapeIdentifier(name)).join(', ')
    const limit = Math.min(Math.max(0, page.limit), maximumRows)
    await declare(client, `select ${list} from ${place} limit $1 offset $2`, [limit, Math.max(0, page.offset)])
    const { fetched, truncated } = await fetchAll(client)
    return { columns, rows: fetched.map((row) => row.map((text, index) => toCell(text, columns[index]!))), truncated }
  } catch (error) {
    throw warehouseProblem(error, { place })
  } finally {
    await leave(client)
  }
}

/** Politely where the connection still lives, else the server logs an unexpected end for every page. */
async function leave(client: Client): Promise<void> {
  const impatience = setTimeout(() => cut(client), 1_000)
  await client
    .query('rollback')
    .then(() => client.end())
    .catch(() => {})
  clearTimeout(impatience)
  cut(client)
}

/** DECLARE takes one SELECT and nothing else; with bind values node-postgres speaks the extended protocol: one statement. */
async function declare(client: Client, text: string, values: unknown[]): Promise<void> {
  await client.query({ text: `declare page no scroll cursor for ${text}`, values, queryMode: 'extended' } as {
    text: string
    values: unknown[]
  })
}

/** Counts bytes at the socket, so that even one endless row cannot fill our memory. */
async function fetchAll(client: Client): Promise<{ fetched: (string | null)[][]; truncated: boolean }> {
  const fetched: (string | null)[][] = []
  const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection
  let bytes = 0
  let truncated = false
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength
    if (bytes > maximumBytes && !truncated) {
      truncated = true
      cut(client)
    }
  })
  await new Promise<void>((resolve, reject) => {
    const query = client.query(
      new Query({ text: 'fetch all from page', rowMode: 'array', types: asText, queryMode: 'extended' } as never),
    )
    query.on('row', (row) => fetched.push(row as unknown as (string | null)[]))
    query.on('end', () => resolve())
    query.on('error', (error) => (truncated ? resolve() : reject(error)))
  })
  if (truncated && fetched.length === 0) {
    throw new WarehouseProblem(
      'ROW_TOO_LARGE',
      `One row is larger than ${maximumBytes / 1024 / 1024} MB, the most that is shown.`,
    )
  }
  return { fetched, truncated }
}

const numbers = new Set(['SMALLINT', 'INTEGER', 'FLOAT', 'DOUBLE'])

function toCell(text: string | null, { dataType }: WarehouseColumn): Cell {
  if (text === null) return null
  if (dataType === 'BOOLEAN') return text === 't'
  if (dataType === 'JSONB') return JSON.parse(text)
  if (!numbers.has(dataType)) return text
  const number = Number(text)
  // JSON has no NaN or Infinity; their names say more than null.
  return Number.isFinite(number) ? number : text
}
