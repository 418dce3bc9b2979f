import { type ClientBase, escapeIdentifier } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { type PostgresStagedTable, readLoadShapes, stagingTableMissing } from '../staged-table.ts'
import { qualifyName } from '../names.ts'
import { warehouseProblem } from '../problems.ts'
import { duplicateKeyInTable } from '../../ready-to-publish.ts'
import { type PostgresShape, readShape } from '../table-shape.ts'
import { columnsToReplace } from '../../shape/previous-source-columns.ts'
import { fallOfRows } from '../../shape/load-shape.ts'
import { completeStaging, planPublication } from './plan-publishing.ts'
import { previousSourceShape } from '../postgres-catalog.ts'
import { listOlderSnapshots } from '../copy/older-snapshots.ts'
import { collectStatistics } from './planner-statistics.ts'

/**
 * Runs the slow steps before the publication blocks readers: it builds the primary key's index and collects planner
 * statistics.
 */
export async function indexAndAnalyze(
  { transactions }: PostgresPools,
  load: PostgresStagedTable,
  signal: AbortSignal,
): Promise<void> {
  if (!load.written) throw new Error('The staged rows must be written completely before they are published.')
  const { staging, currentShape } = load.shapes!
  const table = qualifyName('sluice', load.stagingTable)
  try {
    await withClient(transactions, signal, async (client) => {
      // A merge may have added columns and rows, so the structure is read again.
      const shape = load.copiedRows ? await readShape(client, 'sluice', load.stagingTable) : staging
      if (!shape) throw stagingTableMissing(load)
      const keys = missingKey(load, shape)
      if (keys.length > 0) await client.query(`alter table ${table} add primary key (${keys.join(', ')})`)
      await collectStatistics(client, table, { columns: shape.columns, keys: load.keys, rows: rowsOf(load) })
    })
  } catch (error) {
    if (signal.aborted) throw error
    if ((error as { code?: string }).code === '42P01') throw stagingTableMissing(load)
    const repeatedKey = await findDuplicateInTable(transactions, load, currentShape, error, signal)
    const { qualifiedName } = load.problemContext
    if (repeatedKey !== undefined) throw duplicateKeyInTable({ qualifiedName, keys: load.keys }, repeatedKey)
    throw warehouseProblem(error, load.problemContext)
  }
}

/**
 * Returns a key value that several rows of earlier loads share, if this can be why the merged table cannot have the
 * key. Otherwise returns undefined.
 */
async function findDuplicateInTable(
  transactions: PostgresPools['transactions'],
  { keys, copiedRows }: PostgresStagedTable,
  currentShape: PostgresShape | undefined,
  error: unknown,
  signal: AbortSignal,
): Promise<string | undefined> {
  const partition = currentShape?.partition
  if ((error as { code?: string }).code !== '23505' || !copiedRows || partition === undefined) return undefined
  const names = keys.map((name) => escapeIdentifier(name)).join(', ')
  const text = `select concat_ws(', ', ${names}) as key from ${qualifyName('sluice', partition)} group by ${names} having count(*) > 1 limit 1`
  return withClient(transactions, signal, async (client: ClientBase) => {
    const { rows } = await client.query<{ key: string }>(text)
    return rows[0]?.key
  }).catch(() => undefined)
}

/**
 * Returns the key columns for which an index must be built. Empty if a transformation already created a key or dropped
 * one of the columns.
 */
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
 * Uses the shapes of the load, if they were read. Throws `WarehouseProblem` SCHEMA_MISMATCH or DATES_AMBIGUOUS if the
 * plan refuses the rows.
 */
export async function completeStagingTable(
  pools: PostgresPools,
  load: PostgresStagedTable,
  merging: boolean,
  signal: AbortSignal,
): Promise<void> {
  const here = qualifyName('sluice', load.stagingTable)
  try {
    await withClient(pools.transactions, signal, async (client) => {
      if (!load.shapes) await readLoadShapes(client, [load])
      const { currentShape, staging } = load.shapes!
      load.brought ??= staging.columns.map(({ name }) => name)
      const { table: plan } = planPublication(load, {
        currentShape,
        staging,
        merging: merging && currentShape !== undefined,
      })
      if (!merging) fallOfRows(load.target, currentShape?.lastPublication?.tableRows, load.written!.rows)
      load.previouslySupplied = columnsToReplace(previousSourceShape(currentShape), load.target.shape)
      const statements = completeStaging(here, plan)
      if (statements.length === 0) return
      await client.query(statements.join(';'))
      // Rewritten rows are invisible to older snapshots, so the publication must wait for readers with such snapshots.
      if (plan.restaged.length > 0) load.older = [await listOlderSnapshots(client)]
      load.shapes = { staging: (await readShape(client, 'sluice', load.stagingTable))!, currentShape }
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}
