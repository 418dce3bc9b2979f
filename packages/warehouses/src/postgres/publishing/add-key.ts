import { hash } from 'node:crypto'
import { escapeIdentifier } from 'pg'
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
 * Five million keys are sorted on disk with 64 MB. A second process takes more processor time and the core of another
 * organisation.
 */
const buildSettings = [
  `set local maintenance_work_mem = '128MB'`,
  'set local max_parallel_maintenance_workers = 0',
  'set local max_parallel_workers_per_gather = 0',
]

/**
 * Gives the published partition the key of an increment, if no row lacks a key and no two rows have the same one.
 * Builds a unique index in a transaction, so nothing remains of a build that is killed. That blocks writers, which are
 * runs of the same table, and no readers. Building it concurrently would read the table twice and wait for the
 * queries of all readers. Returns whether the partition has the key now.
 */
export async function addKey(
  { transactions }: PostgresPools,
  { keys }: Pick<PostgresStagedTable, 'keys'>,
  partition: string,
  signal: AbortSignal,
): Promise<boolean> {
  const table = qualifyName('sluice', partition)
  const index = escapeIdentifier(`${keyIndexPrefix}${hash('sha256', partition).slice(0, 32)}`)
  const columns = keys.map((name) => escapeIdentifier(name))
  try {
    return await withClient(transactions, signal, async (client) => {
      const createIndex = `create unique index ${index} on ${table} (${columns.join(', ')})`
      await client.query(['begin', ...buildSettings, createIndex].join(';'))
      // The new index answers this for its first column.
      const isNull = columns.map((column) => `${column} is null`).join(' or ')
      const { rowCount } = await client.query(`select from ${table} where ${isNull} limit 1`)
      await client.query(rowCount ? 'rollback' : 'commit')
      return !rowCount
    })
  } catch (error) {
    signal.throwIfAborted()
    if (noKeyCodes.has((error as { code?: string }).code ?? '')) return false
    throw error
  }
}
