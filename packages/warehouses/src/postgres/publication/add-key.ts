import { hash } from 'node:crypto'
import { escapeIdentifier } from 'pg'
import { qualifyName } from '../names.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { keyIndexPrefix } from '../table-shape.ts'

/**
 * SQLSTATEs after which the partition stays without a key: two rows have the same key, another session uses the table for too long, or
 * another run changes it.
 */
const noKeyCodes = new Set(['23505', '55P03', '40P01', '42P07', '42P01'])

/** With 64 MB, five million keys are sorted on disk. A second process takes more processor time and the core of another organisation. */
const sortSettings = `set maintenance_work_mem = '128MB'; set max_parallel_maintenance_workers = 0`

/**
 * Gives the published partition the key of an increment, if no row lacks a key and no two rows have the same one. Builds a unique index,
 * which blocks neither readers nor writers, and costs half of a copy of the table. If the worker is killed, an invalid index remains,
 * which `readShape` ignores and the next call replaces. Returns whether the partition has the key now.
 */
export async function addKey(
  { transactions }: PostgresPools,
  { keys }: Pick<PostgresStagedTable, 'keys'>,
  partition: string,
  signal: AbortSignal,
): Promise<boolean> {
  const table = qualifyName('sluice', partition)
  const index = `${keyIndexPrefix}${hash('sha256', partition).slice(0, 32)}`
  const columns = keys.map((name) => escapeIdentifier(name))
  try {
    return await withClient(transactions, signal, async (client) => {
      const isNull = columns.map((column) => `${column} is null`).join(' or ')
      const { rowCount } = await client.query(`select from ${table} where ${isNull} limit 1`)
      if (rowCount) return false
      await client.query(`drop index concurrently if exists ${qualifyName('sluice', index)}`)
      await client.query(sortSettings)
      await client.query(
        `create unique index concurrently ${escapeIdentifier(index)} on ${table} (${columns.join(', ')})`,
      )
      await client.query('reset maintenance_work_mem; reset max_parallel_maintenance_workers')
      return true
    })
  } catch (error) {
    signal.throwIfAborted()
    if (noKeyCodes.has((error as { code?: string }).code ?? '')) return false
    throw error
  }
}
