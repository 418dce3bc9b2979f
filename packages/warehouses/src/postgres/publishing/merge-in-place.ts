import { escapeIdentifier, type ClientBase } from 'pg'
import type { MergedRows, StagedParents } from '../../load-target.ts'
import { buildDeletedCondition, replacedColumns, stagedParents } from '../../staged-load-checks.ts'
import { qualifyName } from '../sql-identifiers.ts'
import type { PostgresStagedTable } from '../staged-table.ts'
import { readShape, type PostgresShape, type ShapeColumn } from '../table-shape.ts'
import { describeType } from '../column-types.ts'

/** The time limit for merging. In the worst case, a merge scans both tables completely. */
export const setMergeTimeout = `set local statement_timeout = '12h'`

/**
 * Merges the staged rows into the partition. Updates rows with an existing key if their values differ, inserts the
 * others, and deletes those that are marked as deleted. Without a key, inserts all rows. For child rows of parent
 * records, first deletes the child rows of staged parents that are no longer in the increment. Returns the numbers of
 * added, changed and removed rows.
 */
export async function mergeInPlace(
  client: ClientBase,
  load: PostgresStagedTable,
  partition: string,
  stagingShape: PostgresShape,
): Promise<MergedRows> {
  const columns = mergedColumns(load, stagingShape).map(({ name }) => escapeIdentifier(name))
  const keys = load.keys.map((name) => escapeIdentifier(name))
  const names: MergeNames = {
    liveTable: qualifyName('sluice', partition),
    incomingTable: qualifyName('sluice', load.stagingTable),
    columns,
    keys,
    otherColumns: columns.filter((column) => !keys.includes(column)),
  }
  const isDeleted = deletedCondition(load, stagingShape, 'incoming')
  const parents = stagedParents(load.parentLoad, load.target.parentRecords)
  await client.query(setMergeTimeout)
  const hasChildRows = parents && (await readColumnNames(client, partition)).has(parents.column)
  const canUpdate = keys.length > 0 && names.otherColumns.length > 0
  /** Runs the statement, if there is one, and returns the number of affected rows. */
  const run = async (statement: string | false | undefined) =>
    statement ? ((await client.query(statement)).rowCount ?? 0) : 0

  const missingChildren = await run(hasChildRows && deleteMissingChildren(names, parents))
  const deletedRows = await run(isDeleted && deleteMarkedRows(names, isDeleted))
  const changed = await run(canUpdate && updateChangedRows(names))
  const added = await run(insertNewRows(names, isDeleted))
  return { added, changed, removed: missingChildren + deletedRows }
}

/**
 * The quoted names in the statements of a merge. In each statement, the published partition has the alias `live`, and
 * the staging table has the alias `incoming`.
 */
interface MergeNames {
  liveTable: string
  incomingTable: string
  /** The columns that the merge replaces: the key columns and `otherColumns`. */
  columns: string[]
  keys: string[]
  otherColumns: string[]
}

/** Returns the SQL condition that the rows `live` and `incoming` have the same key. */
const haveSameKey = ({ keys }: MergeNames): string => keys.map((key) => `live.${key} = incoming.${key}`).join(' and ')

/** Returns the statement that deletes the child rows of staged parents that are no longer in the increment. */
function deleteMissingChildren(names: MergeNames, parents: StagedParents): string {
  const { liveTable, incomingTable, keys } = names
  // An increment without a key contains all child rows of its parents, so all published ones are deleted.
  const isMissing =
    keys.length > 0 ? `not exists (select from ${incomingTable} as incoming where ${haveSameKey(names)})` : 'true'
  return `delete from ${liveTable} as live where ${isChildOf(parents, 'live')} and ${isMissing}`
}

/** Returns the statement that deletes the published rows for which a staged row meets the condition `isDeleted`. */
function deleteMarkedRows(names: MergeNames, isDeleted: string): string {
  const { liveTable, incomingTable } = names
  return `delete from ${liveTable} as live using ${incomingTable} as incoming where ${haveSameKey(names)} and ${isDeleted}`
}

/** Returns the statement that updates the published rows for which a staged row has other values. */
function updateChangedRows(names: MergeNames): string {
  const { liveTable, incomingTable, otherColumns } = names
  const valuesOf = (alias: string) => otherColumns.map((column) => `${alias}.${column}`).join(', ')
  return `update ${liveTable} as live set (${otherColumns.join(', ')}) = row(${valuesOf('incoming')})
    from ${incomingTable} as incoming
    where ${haveSameKey(names)} and row(${valuesOf('live')}) is distinct from row(${valuesOf('incoming')})`
}

/** Returns the statement that inserts the staged rows that have no published row and are not marked as deleted. */
function insertNewRows(names: MergeNames, isDeleted: string | undefined): string {
  const { liveTable, incomingTable, columns, keys } = names
  const isNew = keys.length > 0 ? `not exists (select from ${liveTable} as live where ${haveSameKey(names)})` : 'true'
  const isNotDeleted = isDeleted ? `not ${isDeleted}` : 'true'
  const columnNames = columns.join(', ')
  return `insert into ${liveTable} (${columnNames}) select ${columnNames} from ${incomingTable} as incoming
    where ${isNew} and ${isNotDeleted}`
}

/** Returns the columns of the staging table that replace values of published rows. */
export function mergedColumns(load: PostgresStagedTable, { columns }: PostgresShape): ShapeColumn[] {
  const replaced = replacedColumns(load)
  return replaced ? columns.filter(({ name }) => replaced.includes(name)) : columns
}

/**
 * Returns the SQL condition that a staged row is marked as deleted, or undefined if the load has no column that marks
 * deleted rows. `alias` is the alias of the staging table in the statement.
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
 * Returns the SQL condition that a row is a child row of one of the staged parent records. `alias` is the alias of the
 * child table in the statement. A child row stores the parent's key as text in one column, with slashes between the
 * values of several key columns, such as `12/a`. Compares as text, because the tables may store ids with different
 * types.
 */
export function isChildOf({ staging, keys, column }: StagedParents, alias: string): string {
  const parentId = keys.map((key) => `parent.${escapeIdentifier(key)}::text`).join(` || '/' || `)
  return `exists (select from ${qualifyName('sluice', staging)} as parent where ${parentId} = ${alias}.${escapeIdentifier(column)}::text)`
}

async function readColumnNames(client: ClientBase, partition: string): Promise<ReadonlySet<string>> {
  const shape = await readShape(client, 'sluice', partition)
  return new Set(shape?.columns.map(({ name }) => name))
}
