import { escapeIdentifier, type ClientBase } from 'pg'
import { isUnchanged, type MergedRows } from '../../load-target.ts'
import {
  assertMergeKey,
  assertReplaceColumn,
  findParentLoad,
  stagedParents,
  wasKeyedBy,
} from '../../staged-load-checks.ts'
import { type PublishOptions, WarehouseProblem, busyProblem } from '../../warehouse.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { previousSourceShape } from '../postgres-catalog.ts'
import { addKey } from './add-key.ts'
import { deletedCondition, isChildOf, mergedColumns, setMergeTimeout } from './merge-in-place.ts'
import { tableBytes } from '../server/database-size-limit.ts'
import { completeStaging, planPublication } from './plan-publishing.ts'
import { ensureFreeBytes, type PostgresStagedTable } from '../staged-table.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { listBlockingSnapshots } from '../copy/blocking-snapshots.ts'
import { warehouseProblem } from '../map-server-errors.ts'
import { columnsToReplace } from '../../shape/previous-source-columns.ts'
import { readShape, readShapes, type PostgresShape, type ShapeColumn } from '../table-shape.ts'
import { commentOnStaging } from '../staging-table-ddl.ts'

/**
 * Decides for each table how it is merged, and runs the slow steps before the publishing transaction.
 *
 * If neither columns nor key change, the publishing transaction merges the increment into the published partition in
 * place. Otherwise this function copies the table's other rows to the staging table. The staging table then replaces
 * the table like a full load, so readers never wait for a rewrite.
 *
 * If the rows of a parent table are copied, so are those of its child tables. The child tables come first, because the
 * staging table of the parents must contain only the increment while it determines which child rows are replaced.
 *
 * If `keepsPrevious` is set, the rows of all tables are copied, because a restore needs the replaced partitions. But if
 * the run changes no row of any table, it is merged in place, so that a restore still undoes the run before it.
 */
export async function prepareMerges(
  pools: PostgresPools,
  loads: readonly PostgresStagedTable[],
  { mode, keepsPrevious }: Pick<PublishOptions, 'mode' | 'keepsPrevious'>,
  signal: AbortSignal,
): Promise<void> {
  for (const load of loads) {
    const { target, keys, filledColumns } = load
    const { qualifiedName } = load.problemContext
    assertMergeKey({ qualifiedName, keys }, mode)
    assertReplaceColumn({ qualifiedName, target, filledColumns }, mode)
    load.parentLoad = findParentLoad(loads, load.target)
  }
  if (keepsPrevious && !(await changesAnyTable(pools, loads, signal))) {
    // The published partitions stay, so the publication need not wait for readers with older snapshots.
    for (const load of loads) load.blockingSnapshots = []
    return
  }
  const loadsToCopy = new Set<PostgresStagedTable>()
  for (const load of loads) {
    const mustCopy = keepsPrevious || !(await prepareMergeInPlace(pools, load, signal))
    if (mustCopy) loadsToCopy.add(load)
  }
  const childLoads = loads.filter(({ parentLoad }) => parentLoad !== undefined)
  const otherLoads = loads.filter(({ parentLoad }) => parentLoad === undefined)
  for (const load of childLoads) if (loadsToCopy.has(load.parentLoad!)) loadsToCopy.add(load)
  for (const load of [...childLoads, ...otherLoads])
    if (loadsToCopy.has(load)) await copyUnchangedRows(pools, load, signal)
}

/**
 * Returns whether the merge of these loads changes a table. Compares one load after another with its table until the
 * first change, and stores the numbers in `load.comparison`.
 */
async function changesAnyTable(
  pools: PostgresPools,
  loads: readonly PostgresStagedTable[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const load of loads) {
    const merged = await compareInTransaction(pools, load, signal)
    const isTableUnchanged = merged !== undefined && isUnchanged(merged)
    if (!isTableUnchanged) return true
  }
  return false
}

/**
 * Counts the rows of the table that the merge would change, and stores the numbers in `load.comparison`. Returns
 * undefined if the merge would also change columns or the key. Rolls back its transaction.
 */
async function compareInTransaction(
  pools: PostgresPools,
  load: PostgresStagedTable,
  signal: AbortSignal,
): Promise<MergedRows | undefined> {
  try {
    return await withClient(pools.transactions, signal, async (client) => {
      await client.query(`begin; ${setMergeTimeout}`)
      const [currentShape, stagingShape] = await readShapes(client, [load.target, load.staging])
      load.previouslySupplied = columnsToReplace(previousSourceShape(currentShape), load.target.shape)
      const onlyRowsChange =
        hasPublishedRows(currentShape) && stagingShape && fitsInPlace(load, currentShape, stagingShape)
      const merged = onlyRowsChange ? await compareWithTable(client, load, currentShape, stagingShape) : undefined
      await client.query('rollback')
      return merged
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}

/**
 * Prepares a merge in place: if the published table only lacks the key, builds the key's index, except in a dry run.
 * Returns false if a merge in place is not possible, because it would change columns or the key. Returns true, with
 * nothing done, if no table is published yet.
 */
async function prepareMergeInPlace(
  pools: PostgresPools,
  load: PostgresStagedTable,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const [currentShape, stagingShape] = await withClient(pools.transactions, signal, async (client) => {
      const shapes = await readShapes(client, [load.target, load.staging])
      load.previouslySupplied = columnsToReplace(previousSourceShape(shapes[0]), load.target.shape)
      return shapes
    })
    if (!hasPublishedRows(currentShape) || !stagingShape) return true
    if (!hasMergedColumns(load, currentShape, stagingShape)) return false
    if (!hasKey(load, currentShape)) {
      const hasOtherKey = keyOf(currentShape).length > 0
      if (hasOtherKey || load.target.dry) return false
      const hasKeyNow = await addKeyToPartition(pools, load, currentShape, signal)
      if (!hasKeyNow) return false
    }
    // The published partition stays, so transactions with older snapshots still see their rows.
    load.blockingSnapshots = []
    return true
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}

/**
 * Builds the key's index on the published partition. Returns true if the partition has the index afterwards. The index
 * needs at most as many bytes as the table. Throws WAREHOUSE_FULL if these are not free.
 */
async function addKeyToPartition(
  pools: PostgresPools,
  load: PostgresStagedTable,
  { partition, columns }: PostgresShape,
  signal: AbortSignal,
): Promise<boolean> {
  await assertFreeForCopy(pools, load, signal)
  // Text columns come last in the index, because comparing texts is slow and the texts of many keys, such as object
  // names, start with the same characters.
  const isText = (key: string) => columns.some(({ name, type }) => name === key && type === 'text')
  const keys = load.keys.toSorted((one, other) => Number(isText(one)) - Number(isText(other)))
  return addKey(pools, keys, partition!, signal)
}

/** Throws WAREHOUSE_FULL unless as many bytes are free as the published table has. */
async function assertFreeForCopy(pools: PostgresPools, { target }: PostgresStagedTable, signal: AbortSignal) {
  const { schema, table } = target
  const neededBytes = await withClient(pools.statements, signal, (client) => tableBytes(client, schema, [table]))
  await ensureFreeBytes(pools, signal, { neededBytes })
}

/**
 * Copies the published rows that the increment does not replace into the staging table, in one transaction. Stores
 * their number in `load.copiedRows`. Does nothing if the table has no published rows or the staging table is missing.
 */
async function copyUnchangedRows(pools: PostgresPools, load: PostgresStagedTable, signal: AbortSignal): Promise<void> {
  try {
    await assertFreeForCopy(pools, load, signal)
    await withClient(pools.transactions, signal, async (client) => {
      await client.query(`begin; ${setMergeTimeout}`)
      const [currentShape, stagingShape] = await readShapes(client, [load.target, load.staging])
      if (!hasPublishedRows(currentShape) || !stagingShape) {
        await client.query('rollback')
        return
      }
      load.copiedRows = await copyRowsToStaging(client, load, currentShape, stagingShape)
      await client.query('commit')
      load.blockingSnapshots = [await listBlockingSnapshots(client)]
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}

/** True if a load has published the table, and its partition with the rows exists. */
const hasPublishedRows = (shape: PostgresShape | undefined): shape is PostgresShape & { partition: string } =>
  shape?.owned === true && shape.partition !== undefined

/** True if the merge only changes rows: the published table has the same key and columns. See `hasMergedColumns`. */
export const fitsInPlace = (load: PostgresStagedTable, currentShape: PostgresShape, staging: PostgresShape): boolean =>
  hasKey(load, currentShape) && hasMergedColumns(load, currentShape, staging)

/** Returns the names of the key columns of a published table. */
const keyOf = ({ columns }: PostgresShape): string[] =>
  columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)

const hasKey = ({ keys }: PostgresStagedTable, currentShape: PostgresShape): boolean =>
  wasKeyedBy(currentShape.columns, keys)

/**
 * True if a merge changes no column: every replaced column exists in the published table with the same type, and the
 * staging table has those columns of the published table that an earlier load filled.
 */
function hasMergedColumns(
  load: PostgresStagedTable,
  currentShape: PostgresShape,
  stagingShape: PostgresShape,
): boolean {
  const currentTypes = new Map(currentShape.columns.map(({ name, type }) => [name, type]))
  const stagedNames = new Set(stagingShape.columns.map(({ name }) => name))
  const haveSameTypes = mergedColumns(load, stagingShape).every(({ name, type }) => currentTypes.get(name) === type)
  const earlierNames = load.previouslySupplied.filter((name) => currentTypes.has(name))
  const hasEarlierColumns = earlierNames.every((name) => stagedNames.has(name))
  return haveSameTypes && hasEarlierColumns
}

/**
 * Counts the rows that a merge will add, change and remove. Returns the numbers and stores them in `load.comparison`.
 * Throws a retryable problem if the published table has no ledger row, because another run is changing it.
 */
async function compareWithTable(
  client: ClientBase,
  load: PostgresStagedTable,
  currentShape: PostgresShape,
  stagingShape: PostgresShape,
): Promise<MergedRows> {
  const { lastPublication } = currentShape
  if (!lastPublication) throw concurrentlyChanged(load)
  const merged = await countMergedRows(client, load, currentShape, stagingShape)
  load.comparison = { merged, run: lastPublication.run }
  return merged
}

/**
 * Counts the rows that a merge will add, change and remove, including child rows of staged parents that it removes.
 * Compares values in the types of the staging table, which has all columns that are replaced.
 */
async function countMergedRows(
  client: ClientBase,
  load: PostgresStagedTable,
  currentShape: PostgresShape,
  stagingShape: PostgresShape,
): Promise<MergedRows> {
  const liveTable = qualifyName('sluice', currentShape.partition!)
  const incomingTable = qualifyName('sluice', load.stagingTable)
  const currentNames = new Set(currentShape.columns.map(({ name }) => name))
  // Columns that the published table does not have yet are NULL in its rows.
  const liveValue = ({ name, type }: ShapeColumn) =>
    currentNames.has(name) ? `live.${escapeIdentifier(name)}::${type}` : `null::${type}`
  const incomingValue = ({ name }: ShapeColumn) => `incoming.${escapeIdentifier(name)}`
  const keyColumns = stagingShape.columns.filter(({ name }) => load.keys.includes(name))
  const otherColumns = mergedColumns(load, stagingShape).filter(({ name }) => !load.keys.includes(name))
  const hasKey = keyColumns.length > 0
  const haveSameKey = keyColumns.map((column) => `${liveValue(column)} = ${incomingValue(column)}`).join(' and ')
  const isDifferent =
    hasKey && otherColumns.length > 0
      ? `row(${otherColumns.map(liveValue).join(', ')}) is distinct from row(${otherColumns.map(incomingValue).join(', ')})`
      : 'false'
  const isDeleted = deletedCondition(load, stagingShape, 'incoming') ?? 'false'
  // The join finds the published rows by the key. If the load has no key, every row is new.
  const joinClause = hasKey ? ` left join ${liveTable} as live on ${haveSameKey}` : ''
  const isNew = hasKey ? `live.${escapeIdentifier(keyColumns[0]!.name)} is null` : 'true'
  // Published rows can share a key if they were loaded without it. The join then repeats a staged row for each of them,
  // so distinct keys are counted instead of joined rows. The merge replaces one of these rows and removes the others.
  const mayShareKeys = hasKey && !wasKeyedBy(currentShape.columns, load.keys)
  const countStagedRows = mayShareKeys ? `count(distinct (${keyColumns.map(incomingValue).join(', ')}))` : 'count(*)'
  const { rows } = await client.query<MergedRows>(
    `with counts as (
       select count(*) filter (where ${isNew} and not ${isDeleted}) as added,
         count(*) filter (where not (${isNew})) as joined,
         ${countStagedRows} filter (where not (${isNew}) and not ${isDeleted}) as replacing,
         ${countStagedRows} filter (where not (${isNew}) and not ${isDeleted} and not ${isDifferent}) as unchanged
       from ${incomingTable} as incoming${joinClause})
     select added::float8, (replacing - unchanged)::float8 as changed, (joined - replacing)::float8 as removed
     from counts`,
  )
  const mergedRows = rows[0]!
  const parents = stagedParents(load.parentLoad, load.target.parentRecords)
  const hasChildRows = parents && currentNames.has(parents.column)
  if (!hasChildRows) return mergedRows
  const isMissing = hasKey ? `not exists (select from ${incomingTable} as incoming where ${haveSameKey})` : 'true'
  const { rows: missingChildren } = await client.query<{ count: number }>(
    `select count(*)::float8 as count from ${liveTable} as live where ${isChildOf(parents, 'live')} and ${isMissing}`,
  )
  return { ...mergedRows, removed: mergedRows.removed + missingChildren[0]!.count }
}

/**
 * Completes the staging table, so that it can replace the published table:
 * 1. adds the columns that only the published table has, with the published values in rows with the same key,
 * 2. copies the published rows that the increment does not replace,
 * 3. deletes the rows that are marked as deleted, and marks the staging table as merged.
 *
 * Returns the number of copied rows, less the deleted ones, and the run that published them. Throws a retryable problem
 * if another load has changed the table, and NO_PRIMARY_KEY if the table lacks a column of the key.
 */
async function copyRowsToStaging(
  client: ClientBase,
  load: PostgresStagedTable,
  currentShape: PostgresShape,
  stagingShape: PostgresShape,
) {
  const { lastPublication } = currentShape
  if (!lastPublication) throw concurrentlyChanged(load)
  load.previouslySupplied = columnsToReplace(previousSourceShape(currentShape), load.target.shape)
  const stagingTable = qualifyName('sluice', load.stagingTable)
  const { table: plan } = planPublication(load, { currentShape, staging: stagingShape, merging: true })
  for (const statement of completeStaging(stagingTable, plan)) await client.query(statement)
  const completedShape = (await readShape(client, 'sluice', load.stagingTable))!
  const missingKeys = load.keys.filter((name) => !currentShape.columns.some((column) => column.name === name))
  if (missingKeys.length > 0) throw keyWithoutValues(load, missingKeys)
  // The statistics let PostgreSQL plan the joins below well.
  await client.query(`analyze ${stagingTable}`)
  const isComparisonCurrent = load.comparison?.run === lastPublication.run
  if (!isComparisonCurrent) await compareWithTable(client, load, currentShape, completedShape)
  const { fillOtherColumns, copyOtherRows, deleteMarked } = copyStatements(load, currentShape, completedShape)
  if (fillOtherColumns) await client.query(fillOtherColumns)
  const { rowCount: copiedCount } = await client.query(copyOtherRows)
  const deletedRows = deleteMarked ? await client.query(deleteMarked) : undefined
  // Marks the staging table as merged, so that no later attempt takes the copied rows for rows of the increment.
  await client.query(commentOnStaging(load.stagingTable, { ...load.target, merged: true }))
  return { rows: copiedCount! - (deletedRows?.rowCount ?? 0), from: lastPublication.run }
}

interface CopyStatements {
  /** Sets the columns that the load does not replace to the values of the published row with the same key. */
  fillOtherColumns: string | undefined
  /** Copies the published rows that the increment does not replace. */
  copyOtherRows: string
  /** Deletes the rows of the increment that are marked as deleted. */
  deleteMarked: string | undefined
}

/**
 * Returns the statements that complete the staging table with published rows and values, in the types of the staging
 * table. The published partition has the alias `old`, and the staging table has the alias `incoming`.
 */
function copyStatements(
  load: PostgresStagedTable,
  currentShape: PostgresShape,
  stagingShape: PostgresShape,
): CopyStatements {
  const oldTable = qualifyName('sluice', currentShape.partition!)
  const stagingTable = qualifyName('sluice', load.stagingTable)
  const stagingTypes = new Map(stagingShape.columns.map(({ name, type }) => [name, type]))
  const oldValue = (name: string) => `old.${escapeIdentifier(name)}::${stagingTypes.get(name)}`
  const haveSameKey = load.keys.map((name) => `${oldValue(name)} = incoming.${escapeIdentifier(name)}`).join(' and ')
  const hasKey = load.keys.length > 0
  const currentNames = currentShape.columns.map(({ name }) => name)
  const replacedNames = new Set(mergedColumns(load, stagingShape).map(({ name }) => name))
  const otherNames = currentNames.filter((name) => !replacedNames.has(name))
  const assignments = otherNames.map((name) => `${escapeIdentifier(name)} = ${oldValue(name)}`)
  const isNotIncoming = hasKey ? `not exists (select from ${stagingTable} as incoming where ${haveSameKey})` : 'true'
  const parents = stagedParents(load.parentLoad, load.target.parentRecords)
  // The increment contains all child rows of its parents, so it replaces their published child rows.
  const hasOtherParent = parents && currentNames.includes(parents.column) ? `not ${isChildOf(parents, 'old')}` : 'true'
  const isDeleted = deletedCondition(load, stagingShape, 'incoming')
  return {
    fillOtherColumns:
      hasKey && assignments.length > 0
        ? `update ${stagingTable} as incoming set ${assignments.join(', ')}
           from ${oldTable} as old where ${haveSameKey}`
        : undefined,
    copyOtherRows: `insert into ${stagingTable} (${currentNames.map((name) => escapeIdentifier(name)).join(', ')})
      select ${currentNames.map(oldValue).join(', ')} from ${oldTable} as old
      where ${isNotIncoming} and ${hasOtherParent}`,
    deleteMarked: isDeleted && `delete from ${stagingTable} as incoming where ${isDeleted}`,
  }
}

/** Returns the retryable problem for a table that another run has published during the merge. */
export function concurrentlyChanged({ problemContext }: PostgresStagedTable): WarehouseProblem {
  const sentence = `Another run changed ${problemContext.qualifiedName} during the merge of this run. The run is retried automatically.`
  return busyProblem(sentence)
}

function keyWithoutValues({ problemContext }: PostgresStagedTable, columns: string[]): WarehouseProblem {
  return new WarehouseProblem(
    'NO_PRIMARY_KEY',
    `Rows cannot be merged into ${problemContext.qualifiedName}: its rows have no value in key column ${columns.map((name) => `"${name}"`).join(', ')}, which is new. Choose another key, or run once with "rebuild": true, which replaces all rows of the table.`,
  )
}
