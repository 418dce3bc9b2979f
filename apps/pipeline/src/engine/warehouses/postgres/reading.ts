import { type Client, type CustomTypesConfig, type FieldDef, Query } from 'pg'
import type { Cell, WarehouseColumn } from '../warehouse.ts'
import { cut } from './access.ts'

/** Everything as the text PostgreSQL sends; `toCell` decides what becomes a number. */
const asText: CustomTypesConfig = { getTypeParser: () => (text: unknown) => text } as CustomTypesConfig

/** What makes a transaction of role `read`: nothing is written, nothing is waited for long, texts have one form. */
export function beginReading({ searchPath, idle }: { searchPath: string; idle: number }): string {
  return `begin isolation level repeatable read read only;
    set local lock_timeout = '5s'; set local idle_in_transaction_session_timeout = '${idle}s';
    set local search_path = ${searchPath};
    set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local extra_float_digits = 1;
    set local max_parallel_workers_per_gather = 0`
}

/** Politely where the connection still lives, else the server logs an unexpected end for every page. */
export async function leave(client: Client): Promise<void> {
  const impatience = setTimeout(() => cut(client), 1_000)
  await client
    .query('rollback')
    .then(() => client.end())
    .catch(() => {})
  clearTimeout(impatience)
  cut(client)
}

/** By the extended protocol, which takes one statement and no more. */
export async function executeOne(client: Client, text: string, values: readonly (string | null)[] = []): Promise<void> {
  const query = { text, values: [...values], queryMode: 'extended' }
  await client.query(query)
}

export interface Fetched {
  fields: FieldDef[]
  rows: (string | null)[][]
  /** The byte cap cut it short, and the connection with it. */
  truncated: boolean
}

/** Rows of cursor `page`. Counts bytes at the socket, so that even one endless row cannot fill our memory. */
export async function fetchRows(client: Client, count: number | 'all', maximumBytes: number): Promise<Fetched> {
  const rows: (string | null)[][] = []
  const { stream } = (client as unknown as { connection: { stream: NodeJS.ReadableStream } }).connection
  let [bytes, truncated, fields] = [0, false, [] as FieldDef[]]
  const weigh = (chunk: Buffer) => {
    bytes += chunk.byteLength
    if (bytes <= maximumBytes || truncated) return
    truncated = true
    cut(client)
  }
  stream.on('data', weigh)
  try {
    await new Promise<void>((resolve, reject) => {
      const text = `fetch forward ${count} from page`
      const query = client.query(new Query({ text, rowMode: 'array', types: asText, queryMode: 'extended' } as never))
      query.on('row', (row, result) => {
        fields = result!.fields
        rows.push(row as unknown as (string | null)[])
      })
      query.on('end', (result) => {
        fields = result.fields
        resolve()
      })
      query.on('error', (error) => (truncated ? resolve() : reject(error)))
    })
  } finally {
    stream.off('data', weigh)
  }
  return { fields, rows, truncated }
}

const numbers = new Set(['SMALLINT', 'INTEGER', 'FLOAT', 'DOUBLE'])

export function toCells(rows: (string | null)[][], columns: readonly WarehouseColumn[]): Cell[][] {
  return rows.map((row) => row.map((text, index) => toCell(text, columns[index]!)))
}

function toCell(text: string | null, { dataType }: WarehouseColumn): Cell {
  if (text === null) return null
  if (dataType === 'BOOLEAN') return text === 't'
  if (dataType === 'JSONB') return JSON.parse(text)
  if (!numbers.has(dataType)) return text
  const number = Number(text)
  // JSON has no NaN or Infinity; their names say more than null.
  return Number.isFinite(number) ? number : text
}
