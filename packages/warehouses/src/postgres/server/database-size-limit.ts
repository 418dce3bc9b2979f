import type { ClientBase, Pool } from 'pg'
import { type TupleChunk, WarehouseProblem } from '../../warehouse.ts'
import { withClient } from '../postgres-connections.ts'

/** The size limit of an organisation's database, and a function to free space. */
export interface DatabaseLimit {
  /** The maximum size of the database in bytes. */
  databaseBytes: number
  /**
   * The size in bytes of the tables that the load replaces. Until the load is published, the database may exceed its
   * limit by this size.
   */
  replacedBytes: number
  /** The number of bytes that must be free, because the load will write them without another check. */
  neededBytes: number
  /** Drops kept tables of earlier publications until the database has at most `maxBytes` bytes. */
  makeRoom(maxBytes: number): Promise<number>
}

/** The minimum and the maximum number of loaded bytes between two checks of the database size. */
const minCheckIntervalBytes = 4 * 1024 ** 2
const maxCheckIntervalBytes = 256 * 1024 ** 2
/**
 * A load may write this share of the free bytes until the next check. A row may take several times its size on disk.
 */
const uncheckedShare = 1 / 8

/** Returns the number of bytes that the database may still grow. Negative if the database exceeds its limit. */
export async function freeBytes(client: ClientBase, limit: number): Promise<number> {
  const { rows } = await client.query<{ free: number }>(
    'select ($1::bigint - pg_database_size(current_database()))::float8 as free',
    [limit],
  )
  return rows[0]!.free
}

/**
 * Returns the number of bytes that a load may still write. If the database is full, first frees space. Throws
 * WAREHOUSE_FULL if that does not suffice.
 */
export async function ensureFreeBytesInDatabase(
  pool: Pool,
  { databaseBytes, replacedBytes, neededBytes, makeRoom }: DatabaseLimit,
  signal: AbortSignal,
): Promise<number> {
  const maxBytes = databaseBytes + replacedBytes - neededBytes
  // Releases the pool connection after each read, because `makeRoom` needs one.
  const readFreeBytes = () => withClient(pool, signal, (client) => freeBytes(client, maxBytes))
  const free = await readFreeBytes()
  if (free >= 0) return free
  await makeRoom(maxBytes)
  const freeAfterwards = await readFreeBytes()
  if (freeAfterwards < 0) throw warehouseFull(databaseBytes)
  return freeAfterwards
}

/**
 * Yields the chunks, and calls `ensureFreeBytes` before the first one and between later ones. It returns how many bytes
 * may still be written. The less space is free, the more often it is called.
 */
export async function* checkWhileWriting(
  chunks: AsyncIterable<TupleChunk>,
  ensureFreeBytes: () => Promise<number>,
): AsyncGenerator<TupleChunk> {
  let uncheckedBytes = 0
  let checkIntervalBytes = 0
  for await (const chunk of chunks) {
    if (uncheckedBytes >= checkIntervalBytes) {
      const mayWriteBytes = (await ensureFreeBytes()) * uncheckedShare
      checkIntervalBytes = Math.min(maxCheckIntervalBytes, Math.max(minCheckIntervalBytes, mayWriteBytes))
      uncheckedBytes = 0
    }
    uncheckedBytes += chunk.bytes.byteLength
    yield chunk
  }
}

/** Returns the total size on disk, in bytes, of those partitioned tables that exist, with their partitions. */
export async function tableBytes(client: ClientBase, schema: string, tables: readonly string[]): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `select coalesce(sum(pg_total_relation_size(partition_or_table.relid)), 0)::float8 as bytes
     from pg_class as relation join pg_namespace as schema on schema.oid = relation.relnamespace
     cross join lateral pg_partition_tree(relation.oid) as partition_or_table
     where schema.nspname = $1 and relation.relname = any($2) and relation.relkind = 'p'`,
    [schema, tables],
  )
  return rows[0]!.bytes
}

export const warehouseFull = (bytes: number) =>
  new WarehouseProblem(
    'WAREHOUSE_FULL',
    `The warehouse exceeds its limit of ${bytes.toLocaleString('en')} bytes. Delete unused tables or public datasets, or ask the operator to raise CLIENT_WAREHOUSE_LIMIT.`,
  )
