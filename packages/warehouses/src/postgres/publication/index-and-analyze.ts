import { escapeIdentifier } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { type PostgresStagedTable, stagingTableMissing } from '../staged-table.ts'
import { qualifyName } from '../names.ts'
import { warehouseProblem } from '../problems.ts'
import { type PostgresShape, readShape } from '../table-shape.ts'
import { fedColumns } from '../../shape/remembered-feed.ts'
import { fallOfRows } from '../../shape/load-shape.ts'
import { completeStaging, planPublication } from './plan-publication.ts'
import { feedOf } from '../postgres-catalog.ts'
import { findLastEntry } from './ledger.ts'
import { listOlderSnapshots } from '../copy/older-snapshots.ts'
import { collectStatistics } from './planner-statistics.ts'

/** Runs the slow steps before the publication blocks readers: it builds the primary key's index and collects planner statistics. */
export async function indexAndAnalyze(
  { transactions }: PostgresPools,
  load: PostgresStagedTable,
  signal: AbortSignal,
): Promise<void> {
  if (!load.written) throw new Error('A load is published after it is written.')
  const staging = qualifyName('sluice', load.stagingTable)
  try {
    await withClient(transactions, signal, async (client) => {
      const shape = await readShape(client, 'sluice', load.stagingTable)
      if (!shape) throw stagingTableMissing(load)
      const keys = missingKey(load, shape)
      if (keys.length > 0) await client.query(`alter table ${staging} add primary key (${keys.join(', ')})`)
      await collectStatistics(client, staging, { columns: shape.columns, keys: load.keys, rows: rowsOf(load) })
    })
  } catch (error) {
    if (signal.aborted) throw error
    if ((error as { code?: string }).code === '42P01') throw stagingTableMissing(load)
    throw warehouseProblem(error, load.problemContext)
  }
}

/** Returns the key columns that need an index; none if a transformation created a key or dropped one of the columns. */
function missingKey({ keys }: PostgresStagedTable, { columns }: PostgresShape): string[] {
  const keyColumns = columns.filter(({ name }) => keys.includes(name))
  if (keyColumns.length < keys.length || columns.some(({ primaryKey }) => primaryKey)) return []
  return keys.map((name) => escapeIdentifier(name))
}

function rowsOf({ written, copiedRows }: PostgresStagedTable): number {
  return written!.rows + (copiedRows?.rows ?? 0)
}

/**
 * Adds the columns to a staging table that only the published table has, so that checks on staged rows can use them.
 * Throws `WarehouseProblem` SCHEMA_MISMATCH or DATES_AMBIGUOUS if the plan refuses the rows.
 */
export async function completeStagingTable(
  pools: PostgresPools,
  load: PostgresStagedTable,
  merging: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { schema, table } = load.target
  const here = qualifyName('sluice', load.stagingTable)
  try {
    await withClient(pools.transactions, signal, async (client) => {
      const staging = await readShape(client, 'sluice', load.stagingTable)
      if (!staging) throw stagingTableMissing(load)
      const currentShape = await readShape(client, schema, table)
      const last = await findLastEntry(client, currentShape?.partition)
      load.brought ??= staging.columns.map(({ name }) => name)
      const { table: plan } = planPublication(load, {
        currentShape,
        staging,
        last,
        merging: merging && currentShape !== undefined,
      })
      if (!merging) fallOfRows(load.target, last?.tableRows, load.written!.rows)
      load.fedBefore = fedColumns(feedOf(currentShape, last))
      const statements = completeStaging(here, plan)
      if (statements.length > 0) await client.query(statements.join(';'))
      // Older snapshots do not see rewritten rows, so the publication must wait for their readers.
      if (plan.restaged.length > 0) load.older = [await listOlderSnapshots(client)]
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}
