import { hash } from 'node:crypto'
import { type ClientBase, escapeIdentifier } from 'pg'
import { qualifyName } from '../names.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { keyIndexPrefix } from '../table-shape.ts'

/**
 * SQLSTATEs after which the partition stays without a unique index: two rows have the same key, another session uses
 * the table for too long, or another run changes it.
 */
const noKeyCodes = new Set(['23505', '55P03', '40P01', '42P07', '42P01'])

/**
 * Settings for building the index. With 64 MB, PostgreSQL would sort five million keys on disk. A second process would
 * use more CPU time, and the core of another organisation.
 */
const sortSettings = `set maintenance_work_mem = '128MB'; set max_parallel_maintenance_workers = 0`

const nameKeyIndex = (partition: string): string => `${keyIndexPrefix}${hash('sha256', partition).slice(0, 32)}`

/**
 * Drops the invalid index that remains if a worker was killed in `addKey`. PostgreSQL can enforce even an invalid
 * unique index and would reject appended rows. Call it only for a partition without a key.
 */
export async function dropUnfinishedKey(client: ClientBase, partition: string): Promise<void> {
  await client.query(`drop index concurrently if exists ${qualifyName('sluice', nameKeyIndex(partition))}`)
}

/**
 * Adds the increment's key to the published partition as a unique index. Does nothing if a row lacks a key value or two
 * rows have the same key. Returns true if the partition has the key afterwards.
 *
 * The build blocks neither readers nor writers and costs half as much as copying the table. If the worker is killed, an
 * invalid index remains, which `readShape` ignores and the next call replaces.
 */
export async function addKey(
  { transactions }: PostgresPools,
  { keys }: Pick<PostgresStagedTable, 'keys'>,
  partition: string,
  signal: AbortSignal,
): Promise<boolean> {
  const table = qualifyName('sluice', partition)
  const columns = keys.map((name) => escapeIdentifier(name))
  try {
    return await withClient(transactions, signal, async (client) => {
      const isNull = columns.map((column) => `${column} is null`).join(' or ')
      const { rowCount } = await client.query(`select from ${table} where ${isNull} limit 1`)
      if (rowCount) return false
      await dropUnfinishedKey(client, partition)
      const index = escapeIdentifier(nameKeyIndex(partition))
      await client.query(sortSettings)
      await client.query(`create unique index concurrently ${index} on ${table} (${columns.join(', ')})`)
      await client.query('reset maintenance_work_mem; reset max_parallel_maintenance_workers')
      return true
    })
  } catch (error) {
    signal.throwIfAborted()
    if (noKeyCodes.has((error as { code?: string }).code ?? '')) return false
    throw error
  }
}
