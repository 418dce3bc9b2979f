import type { ClientBase, Pool } from 'pg'
import { type TupleChunk, WarehouseProblem } from '../../warehouse.ts'
import { withClient } from '../postgres-connections.ts'

/** The size limit of an organisation's database, and a function to free space. */
export interface DatabaseLimit {
  /** The maximum size of the database in bytes. */
  bytes: number
  /**
   * The size in bytes of the tables that the load replaces. Until the load is published, the database may exceed its
   * limit by this size.
   */
  replaced: number
  /** The number of bytes that must be free, because the load will write them without another check. */
  needed: number
  /** Drops kept tables of earlier publications until the database has at most `maxBytes` bytes. */
  makeRoom(maxBytes: number): Promise<number>
}

/** The number of loaded bytes between two checks of the database size: the minimum and the maximum. */
const checkIntervalBytes = { least: 4 * 1024 ** 2, most: 256 * 1024 ** 2 }

/** Returns the number of bytes that the database may still grow. Negative if the database exceeds its limit. */
export async function freeBytes(client: ClientBase, limit: number): Promise<number> {
  const { rows } = await client.query<{ free: number }>(
    'select ($1::bigint - pg_database_size(current_database()))::float8 as free',
    [limit],
  )
  return rows[0]!.free
}

/**
 * Returns the number of bytes that a load may still write. Throws WAREHOUSE_FULL. Releases its pool connection while
 * `makeRoom` runs, because `makeRoom` needs one.
 */
export async function assertRoom(
  pool: Pool,
  { bytes, replaced, needed, makeRoom }: DatabaseLimit,
  signal: AbortSignal,
): Promise<number> {
  const availableBytes = bytes + replaced - needed
  const readFree = () => withClient(pool, signal, (client) => freeBytes(client, availableBytes))
  const free = await readFree()
  if (free >= 0) return free
  await makeRoom(availableBytes)
  const freed = await readFree()
  if (freed < 0) throw warehouseFull(bytes)
  return freed
}

/**
 * Yields the chunks and calls `assertFree` between them, which returns how many bytes may still be written. The less
 * space is free, the more often it is called, because a row may take several times its size on disk.
 */
export async function* checkWhileWriting(
  chunks: AsyncIterable<TupleChunk>,
  assertFree: () => Promise<number>,
): AsyncGenerator<TupleChunk> {
  let unchecked = 0
  let next = 0
  for await (const chunk of chunks) {
    if (unchecked >= next) {
      next = Math.min(checkIntervalBytes.most, Math.max(checkIntervalBytes.least, (await assertFree()) / 8))
      unchecked = 0
    }
    unchecked += chunk.bytes.byteLength
    yield chunk
  }
}

/** Returns the total size on disk, in bytes, of those tables that exist. */
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
    `The warehouse exceeds its limit of ${bytes.toLocaleString('en')} bytes. Delete unused tables or public datasets, or ask the operator to raise CLIENT_WAREHOUSE_LIMIT.`,
  )
