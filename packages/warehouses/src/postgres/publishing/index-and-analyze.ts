import { type ClientBase, escapeIdentifier } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { type PostgresStagedTable, readLoadShapes, stagingTableMissing } from '../staged-table.ts'
import { qualifyName } from '../names.ts'
import { warehouseProblem } from '../problems.ts'
import { duplicateKeyInTable } from '../../ready-to-publish.ts'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'
import { type PostgresShape, readShape } from '../table-shape.ts'
import { columnsToReplace } from '../../shape/previous-source-columns.ts'
import { reportRowLoss } from '../../shape/load-shape.ts'
import { completeStaging, planPublication } from './plan-publishing.ts'
import { previousSourceShape } from '../postgres-catalog.ts'
import { listOlderSnapshots } from '../copy/older-snapshots.ts'
import { collectStatistics } from './planner-statistics.ts'

/**
 * Builds the index of the staging table's primary key, if it is missing, and collects planner statistics. These steps
 * are slow, so they run before the publication blocks readers. Throws DUPLICATE_KEY if two rows have the same key.
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
      const missingKeyColumns = listMissingKeyColumns(load, shape)
      if (missingKeyColumns.length > 0)
        await client.query(`alter table ${table} add primary key (${missingKeyColumns.join(', ')})`)
      await collectStatistics(client, table, { columns: shape.columns, keys: load.keys, rows: stagedRowCount(load) })
    })
  } catch (error) {
    if (signal.aborted) throw error
    const code = sqlStateOf(error)
    if (code === sqlStates.undefinedTable) throw stagingTableMissing(load)
    if (code === sqlStates.uniqueViolation) {
      const duplicateKey = await findDuplicateInTable(transactions, load, currentShape, signal)
      const { qualifiedName } = load.problemContext
      if (duplicateKey !== undefined) throw duplicateKeyInTable({ qualifiedName, keys: load.keys }, duplicateKey)
    }
    throw warehouseProblem(error, load.problemContext)
  }
}

/**
 * If published rows were copied to the staging table, returns a key value that several of the published rows share.
 * Returns undefined if they share no key. Then the duplicate key is in the loaded rows.
 */
async function findDuplicateInTable(
  transactions: PostgresPools['transactions'],
  { keys, copiedRows }: PostgresStagedTable,
  currentShape: PostgresShape | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const partition = currentShape?.partition
  if (!copiedRows || partition === undefined) return undefined
  const names = keys.map((name) => escapeIdentifier(name)).join(', ')
  const text = `select concat_ws(', ', ${names}) as key from ${qualifyName('sluice', partition)} group by ${names} having count(*) > 1 limit 1`
  return withClient(transactions, signal, async (client: ClientBase) => {
    const { rows } = await client.query<{ key: string }>(text)
    return rows[0]?.key
  }).catch(() => undefined)
}

/**
 * Returns the quoted key columns for which an index must be built. Empty if the table has a primary key already, or if
 * a transformation dropped one of the key columns.
 */
function listMissingKeyColumns({ keys }: PostgresStagedTable, { columns }: PostgresShape): string[] {
  const hasPrimaryKey = columns.some(({ primaryKey }) => primaryKey)
  const hasAllKeyColumns = keys.every((key) => columns.some(({ name }) => name === key))
  if (hasPrimaryKey || !hasAllKeyColumns) return []
  return keys.map((name) => escapeIdentifier(name))
}

/** Returns the number of rows in the staging table: the loaded rows and, after a merge, the copied ones. */
function stagedRowCount({ written, copiedRows }: PostgresStagedTable): number {
  return written!.rows + (copiedRows?.rows ?? 0)
}

/**
 * Gives the staging table the columns that only the published table has, so that checks on staged rows can use them.
 * Widens its columns to the types of the published table. Reads the shapes of the load, unless they were read before.
 * Throws `WarehouseProblem` SCHEMA_MISMATCH or DATES_AMBIGUOUS if the plan rejects the rows.
 */
export async function completeStagingTable(
  pools: PostgresPools,
  load: PostgresStagedTable,
  merging: boolean,
  signal: AbortSignal,
): Promise<void> {
  const stagingTable = qualifyName('sluice', load.stagingTable)
  try {
    await withClient(pools.transactions, signal, async (client) => {
      if (!load.shapes) await readLoadShapes(client, [load])
      const { currentShape, staging } = load.shapes!
      load.filledColumns ??= staging.columns.map(({ name }) => name)
      const { table: plan } = planPublication(load, {
        currentShape,
        staging,
        merging: merging && currentShape !== undefined,
      })
      if (!merging) reportRowLoss(load.target, currentShape?.lastPublication?.tableRows, load.written!.rows)
      load.previouslySupplied = columnsToReplace(previousSourceShape(currentShape), load.target.shape)
      const statements = completeStaging(stagingTable, plan)
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
