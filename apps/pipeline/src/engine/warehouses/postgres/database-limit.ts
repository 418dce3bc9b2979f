import type { ClientBase, Pool } from 'pg'
import { type TupleChunk, WarehouseProblem } from '../warehouse.ts'
import { withClient } from './access.ts'

/** The limit of a client's database, and how to stay within it. */
export interface DatabaseLimit {
  /** Bytes that the database may have. */
  bytes: number
  /** Bytes of the tables that the load replaces. The database may have these beyond its limit until the load is published. */
  replaced: number
  /** Bytes that the load writes next without another look at the size. */
  needed: number
  /** Drops kept tables of earlier publications until the database has no more bytes than these. */
  makeRoom(mostBytes: number): Promise<number>
}

/** Bytes of tuples between two looks at the size of the database. */
const interval = { least: 4 * 1024 ** 2, most: 256 * 1024 ** 2 }

/** Returns the bytes that the database may still grow by; negative when it is too large. */
export async function freeBytes(client: ClientBase, limit: number): Promise<number> {
  const { rows } = await client.query<{ free: number }>(
    'select ($1::bigint - pg_database_size(current_database()))::float8 as free',
    [limit],
  )
  return rows[0]!.free
}

/**
 * Returns the bytes that a load may still write. Throws WAREHOUSE_FULL. Holds no connection of the pool while `makeRoom` runs, which
 * needs one itself.
 */
export async function assertRoom(
  pool: Pool,
  { bytes, replaced, needed, makeRoom }: DatabaseLimit,
  signal: AbortSignal,
): Promise<number> {
  const most = bytes + replaced - needed
  const readFree = () => withClient(pool, signal, (client) => freeBytes(client, most))
  const free = await readFree()
  if (free >= 0) return free
  await makeRoom(most)
  const freed = await readFree()
  if (freed < 0) throw warehouseFull(bytes)
  return freed
}

/**
 * Yields the chunks and calls `assertFree`, which returns how many bytes may still be written. It is called more often the less room is
 * left, because a row may take several times its bytes on disk.
 */
export async function* limitBytes(
  chunks: AsyncIterable<TupleChunk>,
  assertFree: () => Promise<number>,
): AsyncGenerator<TupleChunk> {
  let unchecked = 0
  let next = 0
  for await (const chunk of chunks) {
    if (unchecked >= next) {
      next = Math.min(interval.most, Math.max(interval.least, (await assertFree()) / 8))
      unchecked = 0
    }
    unchecked += chunk.bytes.byteLength
    yield chunk
  }
}

/** Returns the bytes on disk of the tables that are there. */
export async function tableBytes(client: ClientBase, schema: string, tables: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `select coalesce(sum(pg_total_relation_size(part.relid)), 0)::float8 as bytes
     from pg_class c join pg_namespace n on n.oid = c.relnamespace, pg_partition_tree(c.oid) part
     where n.nspname = $1 and c.relname = any($2) and c.relkind = 'p'`,
    [schema, tables],
  )
  return rows[0]!.bytes
}

export const warehouseFull = (bytes: number) =>
  new WarehouseProblem(
    'WAREHOUSE_FULL',
    `The warehouse has more than ${bytes.toLocaleString('en')} bytes, its limit. Delete unused tables or datasets, or ask the operator for more (CLIENT_WAREHOUSE_LIMIT).`,
  )
