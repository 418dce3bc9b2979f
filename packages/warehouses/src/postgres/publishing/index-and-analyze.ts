import { type ClientBase, escapeIdentifier } from 'pg'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { type PostgresStagedTable, readLoadShapes, stagingTableMissing } from '../staged-table.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { duplicateKeyInTable, type DuplicateValues, findDuplicateKeyProblem } from '../../duplicate-key.ts'
import { sqlStateOf, sqlStates } from '../server/sql-states.ts'
import { type PostgresShape, readShape } from '../table-shape.ts'
import type { WarehouseProblem } from '../../warehouse.ts'
import { columnsToReplace } from '../../shape/previous-source-columns.ts'
import { reportRowLoss } from '../../shape/plan-load.ts'
import { completeStaging, planPublication } from './plan-publishing.ts'
import { previousSourceShape } from '../postgres-catalog.ts'
import { listBlockingSnapshots } from '../copy/blocking-snapshots.ts'
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
  const { staging: knownShape } = load.shapes!
  const table = qualifyName('sluice', load.stagingTable)
  try {
    await withClient(transactions, signal, async (client) => {
      // A merge may have added columns and rows, so the structure is read again.
      const shape = load.copiedRows ? await readShape(client, 'sluice', load.stagingTable) : knownShape
      if (!shape) throw stagingTableMissing(load)
      const missingKeyColumns = listMissingKeyColumns(load, shape)
      if (missingKeyColumns.length > 0)
        await client.query(`alter table ${table} add primary key (${missingKeyColumns.join(', ')})`)
      const rowCount = stagedRowCount(load)
      await collectStatistics(client, table, { columns: shape.columns, keys: load.keys, rowCount })
    })
  } catch (error) {
    if (signal.aborted) throw error
    if (sqlStateOf(error) === sqlStates.undefinedTable) throw stagingTableMissing(load)
    throw (await duplicateKeyProblem(transactions, load, error, signal)) ?? warehouseProblem(error, load.problemContext)
  }
}

/**
 * Returns the problem if `error` means that several rows have the same key. They are rows of earlier loads, which a
 * merge copied, or rows in this load. Returns undefined for other errors.
 */
async function duplicateKeyProblem(
  transactions: PostgresPools['transactions'],
  load: PostgresStagedTable,
  error: unknown,
  signal: AbortSignal,
): Promise<WarehouseProblem | undefined> {
  if (sqlStateOf(error) !== sqlStates.uniqueViolation) return undefined
  const { keys, target, transformed, copiedRows, stagingTable } = load
  const { qualifiedName } = load.problemContext
  const findIn = (table: string, columns: readonly string[]) => findDuplicates(transactions, table, columns, signal)
  // A merge has copied rows of this partition.
  const copiedPartition = copiedRows ? load.shapes?.currentShape?.partition : undefined
  const publishedDuplicate = copiedPartition === undefined ? undefined : await findIn(copiedPartition, keys)
  if (publishedDuplicate) return duplicateKeyInTable({ qualifiedName, keys }, publishedDuplicate)
  const keyedLoad = { qualifiedName, keys, target, transformed }
  return findDuplicateKeyProblem(keyedLoad, (columns) => findIn(stagingTable, columns), error)
}

/**
 * Finds one combination of values of the columns that several rows have, and the number of these rows. Returns
 * undefined if each row has another combination, or if the query fails. `table` is the name of a table in the hidden
 * schema.
 */
async function findDuplicates(
  transactions: PostgresPools['transactions'],
  table: string,
  columns: readonly string[],
  signal: AbortSignal,
): Promise<DuplicateValues | undefined> {
  const names = columns.map((name) => escapeIdentifier(name))
  const text = `select array[${names.map((name) => `${name}::text`).join(', ')}] as values, count(*)::float8 as rows
    from ${qualifyName('sluice', table)} group by ${names.join(', ')} having count(*) > 1 limit 1`
  return withClient(transactions, signal, async (client: ClientBase) => {
    const { rows } = await client.query<DuplicateValues & { values: string[] }>(text)
    return rows[0]
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
 * Completes the staging table, so that checks on staged rows can use it like the published table:
 *
 * - adds the columns that only the published table has,
 * - widens its columns to the types of the published table.
 *
 * Stores the load's own columns (`load.filledColumns`, at the first call), the columns of the last load
 * (`load.previouslySupplied`) and the structures of both tables (`load.shapes`). Throws SCHEMA_MISMATCH or
 * DATES_AMBIGUOUS if the plan rejects the rows, and the errors of `reportRowLoss`.
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
      // Throws if the table would lose too many rows. The result is not needed here, because the publication reports
      // smaller losses.
      if (!merging) reportRowLoss(load.target, currentShape?.lastPublication?.tableRows, load.written!.rows)
      load.previouslySupplied = columnsToReplace(previousSourceShape(currentShape), load.target.shape)
      const statements = completeStaging(stagingTable, plan)
      if (statements.length === 0) return
      await client.query(statements.join(';'))
      // Rewritten rows are invisible to older snapshots, so the publication must wait for readers with such snapshots.
      if (plan.restaged.length > 0) load.blockingSnapshots = [await listBlockingSnapshots(client)]
      load.shapes = { staging: (await readShape(client, 'sluice', load.stagingTable))!, currentShape }
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}
