import { measured } from '../measured.ts'
import type { ClientBase } from 'pg'
import type { PublishedTable, Publication, WarehouseColumn, WarehouseTable } from '../warehouse.ts'
import { foreignKeysOf } from './foreign-keys.ts'
import { type FeedMemory, memoryOfTable, historyOf } from '../shape/feed-memory.ts'
import { type LastEntry, lastEntry } from './ledger.ts'
import { readShape, type Shape, type ShapeColumn } from './shape.ts'
import { describeType, storedAs } from './types.ts'

export async function findPublication(client: ClientBase, run: string): Promise<Publication | undefined> {
  const { rows: entries } = await client.query('select attempt, published_at from sluice.ledger where run = $1', [run])
  if (!entries[0]) return undefined
  const { rows } = await client.query(
    `select schema_name as schema, table_name as "table", rows::float8, bytes::float8, changes
     from sluice.ledger_table where run = $1 order by schema_name, table_name`,
    [run],
  )
  const tables: PublishedTable[] = rows
  return {
    run,
    attempt: entries[0].attempt,
    publishedAt: entries[0].published_at,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    bytes: tables.reduce((sum, { bytes }) => sum + bytes, 0),
    tables,
  }
}

/** Rows as the loads that made the table counted them; for what we did not load, the planner's estimate. */
export async function findTable(client: ClientBase, schema: string, name: string): Promise<WarehouseTable | undefined> {
  const shape = await readShape(client, schema, name)
  if (!shape) return undefined
  const last = await lastEntry(client, shape.partition)
  const profiles = new Map(last?.profile?.map((profile) => [profile.column, profile]))
  const history = historyOf(last?.feed)
  const columns = shape.columns.map((column) => ({
    ...describeColumn(column),
    ...history(column.name),
    ...measured(profiles.get(column.name)),
  }))
  const foreignKeys = await foreignKeysOf(client, shape.oid)
  const rowCount = last?.tableRows ?? shape.estimatedRows
  return { schema, name, columns, rowCount, size: shape.size, foreignKeys }
}

export async function findCursor(client: ClientBase, schema: string, name: string): Promise<unknown> {
  const shape = await readShape(client, schema, name)
  return (await lastEntry(client, shape?.partition))?.cursor ?? undefined
}

/** The memory of the last load. For tables of older versions, it is derived from the table. */
export function feedOf(shape: Shape | undefined, last: LastEntry | undefined): FeedMemory | undefined {
  if (!shape) return undefined
  return (
    last?.feed ??
    memoryOfTable(
      shape.columns.map((column) => ({ ...column, ...storedAs(column.type) })),
      last?.fedColumns ?? [],
    )
  )
}

export async function findFeed(client: ClientBase, schema: string, name: string): Promise<FeedMemory | undefined> {
  const shape = await readShape(client, schema, name)
  return feedOf(shape, await lastEntry(client, shape?.partition))
}

export function describeColumn({
  name,
  label,
  type,
  primaryKey,
}: Pick<ShapeColumn, 'name' | 'label' | 'type' | 'primaryKey'>): WarehouseColumn {
  return { name, label, ...describeType(type), primaryKey }
}
