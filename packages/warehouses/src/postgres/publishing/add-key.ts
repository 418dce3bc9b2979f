import { hash } from 'node:crypto'
import { escapeIdentifier } from 'pg'
import { qualifyName } from '../sql-identifiers.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'
import { keyIndexPrefix } from '../table-shape.ts'

/**
 * SQLSTATEs after which the partition stays without a unique index: two rows have the same key, another session uses
 * the table for too long, or another run changes it.
 */
const noKeyStates: ReadonlySet<string> = new Set([
  sqlStates.uniqueViolation,
  sqlStates.lockNotAvailable,
  sqlStates.deadlockDetected,
  sqlStates.duplicateTable,
  sqlStates.undefinedTable,
])

/**
 * Settings for building the index. With less memory (64 MB), five million keys are sorted on disk. A second process
 * takes more processor time and the core of another organisation.
 */
const buildSettings = [
  `set local maintenance_work_mem = '128MB'`,
  'set local max_parallel_maintenance_workers = 0',
  'set local max_parallel_workers_per_gather = 0',
]

/**
 * Builds a unique index on the key columns of the published partition. Returns true if the partition has the index
 * afterwards. Returns false, with nothing changed, if a row has no value in a key column, if two rows have the same
 * key, or if another session prevents it.
 *
 * The build is a transaction, so nothing remains if it is killed. It blocks no readers, and only those writers that are
 * runs of the same table. CREATE INDEX CONCURRENTLY would read the table twice and wait for the queries of all readers.
 */
export async function addKey(
  { transactions }: PostgresPools,
  keys: readonly string[],
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
      // A unique index accepts NULL, so this query looks for rows without a key.
      const isNull = columns.map((column) => `${column} is null`).join(' or ')
      const { rowCount: rowsWithoutKey } = await client.query(`select from ${table} where ${isNull} limit 1`)
      const isUsable = rowsWithoutKey === 0
      await client.query(isUsable ? 'commit' : 'rollback')
      return isUsable
    })
  } catch (error) {
    signal.throwIfAborted()
    if (noKeyStates.has(sqlStateOf(error))) return false
    throw error
  }
}
