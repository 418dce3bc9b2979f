import { escapeIdentifier, type ClientBase } from 'pg'
import { isUnchanged, type MergedRows, type StagedRecords } from '../../load-target.ts'
import {
  assertMergeKey,
  assertReplacedPartsKnown,
  buildDeletedCondition,
  recordsOf,
  replacedColumns,
  stagedRecords,
  wasKeyedBy,
} from '../../ready-to-publish.ts'
import { type PublishOptions, WarehouseProblem, busyProblem } from '../../warehouse.ts'
import { type PostgresPools, withClient } from '../postgres-connections.ts'
import { feedOf } from '../postgres-catalog.ts'
import { addKey } from './add-key.ts'
import { tableBytes } from '../server/database-size-limit.ts'
import { completeStaging, planPublication } from './plan-publishing.ts'
import { assertFree, type PostgresStagedTable } from '../staged-table.ts'
import { qualifyName } from '../names.ts'
import { listOlderSnapshots } from '../copy/older-snapshots.ts'
import { warehouseProblem } from '../problems.ts'
import { columnsToReplace } from '../../shape/previous-source-columns.ts'
import { readShape, readShapes, type PostgresShape } from '../table-shape.ts'
import { commentOnStaging } from '../staging-table-ddl.ts'
import { describeType } from '../types.ts'

/** The time limit for merging. In the worst case, a merge scans both tables completely. */
const setMergeTimeout = `set local statement_timeout = '12h'`

/**
 * Runs the slow part of a merge before the publishing transaction. If neither columns nor key change, that transaction merges the
 * increment into the published partition in place. Otherwise this function copies the table's other rows to the staging table,
 * which then replaces the table like a full load, so readers never wait for a rewrite. Parts of records are copied if their records
 * are, and before them: the staging table of the records must contain only the increment when it determines which parts are
 * replaced. If `keepsPrevious` is set, all rows are copied, because a restore needs the replaced partition. But if the run changes no row
 * of any table, it is merged in place, so that a restore still undoes the run before it.
 */
export async function prepareMerges(
  pools: PostgresPools,
  loads: readonly PostgresStagedTable[],
  { mode, keepsPrevious }: Pick<PublishOptions, 'mode' | 'keepsPrevious'>,
  signal: AbortSignal,
): Promise<void> {
  for (const load of loads) {
    const { target, keys, brought } = load
    const { qualifiedName } = load.problemContext
    assertMergeKey({ qualifiedName, keys }, mode)
    assertReplacedPartsKnown({ qualifiedName, target, brought }, mode)
    load.records = recordsOf(loads, load.target)
  }
  if (keepsPrevious && (await isEachUnchanged(pools, loads, signal))) return
  const copiedRows = new Set<PostgresStagedTable>()
  for (const load of loads) if (keepsPrevious || !(await canMergeInPlace(pools, load, signal))) copiedRows.add(load)
  for (const load of loads) if (load.records && copiedRows.has(load.records)) copiedRows.add(load)
  for (const load of loads) if (load.records && copiedRows.has(load)) await copyUnchangedRows(pools, load, signal)
  for (const load of loads) if (!load.records && copiedRows.has(load)) await copyUnchangedRows(pools, load, signal)
}

/** Returns whether the merges leave the rows and columns of all tables as they are. */
async function isEachUnchanged(
  pools: PostgresPools,
  loads: readonly PostgresStagedTable[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const load of loads) if (!(await changesNothing(pools, load, signal))) return false
  // The published partitions stay, so no transaction can miss staged rows.
  for (const load of loads) load.older = []
  return true
}

async function changesNothing(pools: PostgresPools, load: PostgresStagedTable, signal: AbortSignal): Promise<boolean> {
  try {
    return await withClient(pools.transactions, signal, async (client) => {
      await client.query(`begin; ${setMergeTimeout}`)
      const [currentShape, staging] = await readShapes(client, [load.target, load.staging])
      load.fedBefore = columnsToReplace(feedOf(currentShape), load.target.shape)
      const isComparable =
        currentShape?.owned === true &&
        currentShape.partition !== undefined &&
        staging !== undefined &&
        fitsInPlace(load, currentShape, staging)
      if (isComparable) await compareWithTable(client, load, currentShape, staging)
      await client.query('rollback')
      return isComparable && load.comparison !== undefined && isUnchanged(load.comparison.merged)
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}

/** Returns whether the merge only changes rows. True if the table does not exist yet. Gives the table a key if only that is missing. */
async function canMergeInPlace(pools: PostgresPools, load: PostgresStagedTable, signal: AbortSignal): Promise<boolean> {
  try {
    const [currentShape, staging] = await withClient(pools.transactions, signal, async (client) => {
      const shapes = await readShapes(client, [load.target, load.staging])
      load.fedBefore = columnsToReplace(feedOf(shapes[0]), load.target.shape)
      return shapes
    })
    const partition = currentShape?.partition
    if (!currentShape?.owned || partition === undefined || !staging) return true
    if (!hasMergedColumns(load, currentShape, staging)) return false
    if (!hasKey(load, currentShape)) {
      const mayAddKey = keyOf(currentShape).length === 0 && !load.target.dry
      if (!mayAddKey || !(await addKeyToPartition(pools, load, currentShape, signal))) return false
    }
    // The rewritten table stays the same relation, so transactions with older snapshots still see their rows.
    load.older = []
    return true
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}

/**
 * Adds the key's index, which needs at most as many bytes as the table. Returns true if the partition has the key
 * afterwards.
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
  return addKey(pools, { keys }, partition!, signal)
}

async function assertFreeForCopy(pools: PostgresPools, { target }: PostgresStagedTable, signal: AbortSignal) {
  const { schema, table } = target
  const needed = await withClient(pools.statements, signal, (client) => tableBytes(client, schema, [table]))
  await assertFree(pools, signal, { needed })
}

async function copyUnchangedRows(pools: PostgresPools, load: PostgresStagedTable, signal: AbortSignal): Promise<void> {
  try {
    await assertFreeForCopy(pools, load, signal)
    await withClient(pools.transactions, signal, async (client) => {
      await client.query(`begin; ${setMergeTimeout}`)
      const [currentShape, staging] = await readShapes(client, [load.target, load.staging])
      if (!currentShape?.owned || currentShape.partition === undefined || !staging) {
        await client.query('rollback')
        return
      }
      load.copiedRows = await copyRowsToStaging(client, load, currentShape, staging)
      await client.query('commit')
      load.older = [await listOlderSnapshots(client)]
    })
  } catch (error) {
    signal.throwIfAborted()
    throw warehouseProblem(error, load.problemContext)
  }
}

/**
 * True if the merge only changes rows: the key is the same, and every replaced column exists in both tables with the
 * same type.
 */
export const fitsInPlace = (load: PostgresStagedTable, currentShape: PostgresShape, staging: PostgresShape): boolean =>
  hasKey(load, currentShape) && hasMergedColumns(load, currentShape, staging)

const keyOf = ({ columns }: PostgresShape): string[] =>
  columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)

const hasKey = ({ keys }: PostgresStagedTable, currentShape: PostgresShape): boolean =>
  wasKeyedBy(currentShape.columns, keys)

/** True if every replaced column exists in both tables with the same type. */
function hasMergedColumns(load: PostgresStagedTable, currentShape: PostgresShape, staging: PostgresShape): boolean {
  const types = new Map(currentShape.columns.map(({ name, type }) => [name, type]))
  const staged = new Set(staging.columns.map(({ name }) => name))
  return (
    mergedColumns(load, staging).every(({ name, type }) => types.get(name) === type) &&
    load.fedBefore.every((name) => staged.has(name) || !types.has(name))
  )
}

/** Returns the columns that take the increment's values. The staging table has all of them once it is completed. */
function mergedColumns(load: PostgresStagedTable, { columns }: PostgresShape) {
  const replaced = replacedColumns(load)
  return replaced ? columns.filter(({ name }) => replaced.includes(name)) : columns
}

/**
 * Updates rows with an existing key if their values differ, inserts the others, and deletes those that are marked as deleted. Without a key,
 * inserts all rows. Returns the numbers of these rows.
 */
export async function mergeInPlace(
  client: ClientBase,
  load: PostgresStagedTable,
  partition: string,
  staging: PostgresShape,
): Promise<MergedRows> {
  const [into, from] = [qualifyName('sluice', partition), qualifyName('sluice', load.stagingTable)]
  const columns = mergedColumns(load, staging).map(({ name }) => escapeIdentifier(name))
  const keys = load.keys.map((name) => escapeIdentifier(name))
  const otherColumns = columns.filter((column) => !keys.includes(column))
  const keysMatch = keys.map((key) => `live.${key} = incoming.${key}`).join(' and ')
  const columnsOf = (table: string) => otherColumns.map((column) => `${table}.${column}`).join(', ')
  await client.query(setMergeTimeout)
  const records = stagedRecords(load.records, load.target.partOf)
  const known = records && (await readColumnNames(client, partition)).has(records.column)
  const isAbsent = keys.length > 0 ? `not exists (select from ${from} as incoming where ${keysMatch})` : 'true'
  const removed = known
    ? await client.query(`delete from ${into} as live where ${isPartOf(records, 'live')} and ${isAbsent}`)
    : undefined
  const isDeleted = deletedCondition(load, staging, 'incoming')
  const deleted = isDeleted
    ? await client.query(`delete from ${into} as live using ${from} as incoming where ${keysMatch} and ${isDeleted}`)
    : undefined
  const exists = isDeleted ? ` and not ${isDeleted}` : ''
  const changed =
    keys.length > 0 && otherColumns.length > 0
      ? await client.query(
          `update ${into} as live set (${otherColumns.join(', ')}) = row(${columnsOf('incoming')}) from ${from} as incoming
       where ${keysMatch} and row(${columnsOf('live')}) is distinct from row(${columnsOf('incoming')})`,
        )
      : undefined
  const { rowCount } = await client.query(
    `insert into ${into} (${columns.join(', ')}) select ${columns.join(', ')} from ${from} as incoming
     where ${keys.length > 0 ? `not exists (select from ${into} as live where ${keysMatch})` : 'true'}${exists}`,
  )
  return {
    added: rowCount!,
    changed: changed?.rowCount ?? 0,
    removed: (removed?.rowCount ?? 0) + (deleted?.rowCount ?? 0),
  }
}

async function compareWithTable(
  client: ClientBase,
  load: PostgresStagedTable,
  currentShape: PostgresShape,
  staging: PostgresShape,
): Promise<void> {
  const { last } = currentShape
  if (!last) throw concurrentlyChanged(load)
  load.comparison = { merged: await countMergedRows(client, load, currentShape, staging), run: last.run }
}

/** Counts the rows that a merge will change. Compares values in the types of the staging table, which has all columns that are replaced. */
async function countMergedRows(
  client: ClientBase,
  load: PostgresStagedTable,
  currentShape: PostgresShape,
  staging: PostgresShape,
): Promise<MergedRows> {
  const [table, from] = [qualifyName('sluice', currentShape.partition!), qualifyName('sluice', load.stagingTable)]
  const replaced = mergedColumns(load, staging)
  const currentColumns = new Set(currentShape.columns.map(({ name }) => name))
  const toLiveValue = ({ name, type }: (typeof replaced)[number]) =>
    currentColumns.has(name) ? `live.${escapeIdentifier(name)}::${type}` : `null::${type}`
  const keyColumns = staging.columns.filter(({ name }) => load.keys.includes(name))
  const otherColumns = replaced.filter(({ name }) => !load.keys.includes(name))
  const keysMatch = keyColumns
    .map((column) => `${toLiveValue(column)} = incoming.${escapeIdentifier(column.name)}`)
    .join(' and ')
  const incomingValues = otherColumns.map(({ name }) => `incoming.${escapeIdentifier(name)}`).join(', ')
  const isDifferent =
    otherColumns.length === 0 || keyColumns.length === 0
      ? 'false'
      : `row(${otherColumns.map(toLiveValue).join(', ')}) is distinct from row(${incomingValues})`
  const isDeleted = deletedCondition(load, staging, 'incoming') ?? 'false'
  const isNew = keyColumns.length === 0 ? 'true' : `live.${escapeIdentifier(keyColumns[0]!.name)} is null`
  const joinClause = keyColumns.length === 0 ? '' : ` left join ${table} as live on ${keysMatch}`
  const { rows } = await client.query<MergedRows>(
    `select count(*) filter (where ${isNew} and not ${isDeleted})::float8 as added,
       count(*) filter (where not (${isNew}) and not ${isDeleted} and ${isDifferent})::float8 as changed,
       count(*) filter (where not (${isNew}) and ${isDeleted})::float8 as removed
     from ${from} as incoming${joinClause}`,
  )
  const merged = rows[0]!
  const records = stagedRecords(load.records, load.target.partOf)
  if (!records || !currentColumns.has(records.column)) return merged
  const isAbsent = keyColumns.length === 0 ? 'true' : `not exists (select from ${from} as incoming where ${keysMatch})`
  const { rows: parts } = await client.query<{ removed: number }>(
    `select count(*)::float8 as removed from ${table} as live where ${isPartOf(records, 'live')} and ${isAbsent}`,
  )
  return { ...merged, removed: merged.removed + parts[0]!.removed }
}

/**
 * Returns the SQL condition for a staged row that is marked as deleted, or undefined if the load has no column for such
 * marks.
 */
export function deletedCondition(
  { target }: { target: { deletedColumn?: string } },
  { columns }: PostgresShape,
  alias: string,
): string | undefined {
  return buildDeletedCondition({
    column: target.deletedColumn,
    columns: columns.map(({ name, type }) => ({ name, type, dataType: describeType(type).dataType })),
    expression: (name) => `${alias}.${escapeIdentifier(name)}`,
  })
}

/**
 * Returns the SQL condition that a row is a part of one of the staged records. Compares ids as text, because the tables
 * of records and parts may store them with different types.
 */
export function isPartOf({ staging, keys, column }: StagedRecords, alias: string): string {
  const id = keys.map((key) => `record.${escapeIdentifier(key)}::text`).join(` || '/' || `)
  return `exists (select from ${qualifyName('sluice', staging)} as record where ${id} = ${alias}.${escapeIdentifier(column)}::text)`
}

async function readColumnNames(client: ClientBase, partition: string): Promise<ReadonlySet<string>> {
  const shape = await readShape(client, 'sluice', partition)
  return new Set(shape?.columns.map(({ name }) => name))
}

/**
 * Copies the rows and columns that the increment does not replace into the staging table. Returns the number of copied
 * rows and the run that published them.
 */
async function copyRowsToStaging(
  client: ClientBase,
  load: PostgresStagedTable,
  currentShape: PostgresShape,
  staging: PostgresShape,
) {
  const partition = currentShape.partition!
  const { last } = currentShape
  if (!last) throw concurrentlyChanged(load)
  load.fedBefore = columnsToReplace(feedOf(currentShape), load.target.shape)
  const [old, newTable] = [qualifyName('sluice', partition), qualifyName('sluice', load.stagingTable)]
  const { table } = planPublication(load, { currentShape, staging, merging: true })
  for (const statement of completeStaging(newTable, table)) await client.query(statement)
  const completed = (await readShape(client, 'sluice', load.stagingTable))!
  const types = new Map(completed.columns.map(({ name, type }) => [name, type]))
  const cast = (name: string) => `old.${escapeIdentifier(name)}::${types.get(name)}`
  const lacking = load.keys.filter((name) => !currentShape.columns.some((column) => column.name === name))
  if (lacking.length > 0) throw keyWithoutValues(load, lacking)
  const keysMatch = load.keys.map((name) => `${cast(name)} = incoming.${escapeIdentifier(name)}`).join(' and ')
  const replaced = new Set(mergedColumns(load, completed).map(({ name }) => name))
  const keptExpressions = currentShape.columns.filter(({ name }) => !replaced.has(name)).map(({ name }) => name)
  await client.query(`analyze ${newTable}`)
  if (load.comparison?.run !== last.run) await compareWithTable(client, load, currentShape, completed)
  if (load.keys.length > 0 && keptExpressions.length > 0)
    await client.query(
      `update ${newTable} as incoming set ${keptExpressions.map((name) => `${escapeIdentifier(name)} = ${cast(name)}`).join(', ')}
       from ${old} as old where ${keysMatch}`,
    )
  const names = currentShape.columns.map(({ name }) => name)
  const records = stagedRecords(load.records, load.target.partOf)
  const notReplacedParts = records && names.includes(records.column) ? ` and not ${isPartOf(records, 'old')}` : ''
  const { rowCount } = await client.query(
    `insert into ${newTable} (${names.map((name) => escapeIdentifier(name)).join(', ')})
     select ${names.map(cast).join(', ')} from ${old} as old
     where ${load.keys.length > 0 ? `not exists (select from ${newTable} as incoming where ${keysMatch})` : 'true'}${notReplacedParts}`,
  )
  const isDeleted = deletedCondition(load, completed, 'incoming')
  const deleted = isDeleted ? await client.query(`delete from ${newTable} as incoming where ${isDeleted}`) : undefined
  // Marks the staging table as merged, so that no later attempt takes the copied rows for rows of the increment.
  await client.query(commentOnStaging(load.stagingTable, { ...load.target, merged: true }))
  return { rows: rowCount! - (deleted?.rowCount ?? 0), from: last.run }
}

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
