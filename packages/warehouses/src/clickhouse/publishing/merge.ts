import { randomUUID } from 'node:crypto'
import type { MergedRows, StagedParents } from '../../load-target.ts'
import {
  assertKeysInTable,
  buildDeletedCondition,
  replacedColumns,
  stagedParents,
  wasKeyedBy,
} from '../../staged-load-checks.ts'
import { duplicateKeyInTable } from '../../duplicate-key.ts'
import { type ClientAccess, maxStatementSeconds } from '../clickhouse-settings.ts'
import { executeStatement, rowsOf } from '../protocol/http.ts'
import { type ClickHouseStagedTable, uuidOf } from '../staging/staged-table.ts'
import { findDuplicates } from './find-duplicates.ts'
import { qualifyName, quoteIdentifier } from '../names.ts'
import { type ClickHouseShape, createTable } from '../table-shape.ts'
import { describeType } from '../types.ts'

/** Joins spill to disk if their hash tables outgrow the memory limit. */
const joinSettings = {
  join_use_nulls: 1,
  join_algorithm: 'grace_hash,hash',
  max_bytes_before_external_group_by: 2 ** 31,
}

/** An increment (new and changed rows) in a staging table, and how to merge it into the published table. */
interface MergeInput {
  /** The quoted `database.table` of the staging table. */
  staging: string
  columns: readonly { name: string; type: string; nullable: boolean }[]
  keys: readonly string[]
  /** The columns that take the increment's values. Other columns of a matched row keep their values. */
  replacedColumns: readonly string[]
  currentShape: Pick<ClickHouseShape, 'database' | 'name' | 'columns'>
  /** Set if the rows are child rows. All staged child rows of a parent record then replace its earlier child rows. */
  parents?: StagedParents | undefined
  /** The name of the column that marks deleted rows. */
  deletedColumn?: string | undefined
}

/** Returns the SQL conditions and names that the queries of a merge share. */
function buildMergeConditions({ staging, columns, keys, currentShape, parents, deletedColumn }: MergeInput) {
  const liveColumns = new Set(currentShape.columns.map(({ name }) => name))
  const sameKey = keys.map((key) => `incoming.${quoteIdentifier(key)} = live.${quoteIdentifier(key)}`).join(' and ')
  const isAppend = keys.length === 0
  return {
    liveColumns,
    table: qualifyName(currentShape.database, currentShape.name),
    isAppend,
    sameKey,
    /** Keeps the rows of the table with keys that the increment lacks. */
    antiJoin: isAppend ? '' : ` left anti join ${staging} as incoming on ${sameKey}`,
    /**
     * The condition that a row of the table is a child row of a staged parent; undefined if the rows are not child rows.
     */
    isReplacedChild: parents && liveColumns.has(parents.column) ? isChildOf(parents) : undefined,
    /** The condition that a row of the increment is marked as deleted; undefined if no column marks rows. */
    isDeleted: buildDeletedCondition({
      column: deletedColumn,
      columns: columns.map(({ name, type }) => ({ name, type, dataType: describeType(type).dataType })),
      expression: (name) => `incoming.${quoteIdentifier(name)}`,
    }),
  }
}

/**
 * Builds the query for all rows of the merged table, in the column types of the staging table: the increment's rows,
 * and the rows of the table with other keys. Without keys, these are all rows of the table. Leaves out rows that the
 * increment marks as deleted, and earlier child rows of the increment's parent records.
 */
export function buildMergeQuery(input: MergeInput): string {
  const { staging, columns, replacedColumns } = input
  const { liveColumns, table, isAppend, sameKey, antiJoin, isReplacedChild, isDeleted } = buildMergeConditions(input)
  const keptExpressions = columns.map(({ name, type, nullable }) => {
    const value = liveColumns.has(name) ? `live.${quoteIdentifier(name)}` : 'null'
    return `cast(${value} as ${nullable ? `Nullable(${type})` : type}) as ${quoteIdentifier(name)}`
  })
  const keepsValue = (name: string) => !isAppend && !replacedColumns.includes(name) && liveColumns.has(name)
  const incomingExpressions = columns.map(({ name }, index) =>
    keepsValue(name) ? keptExpressions[index]! : `incoming.${quoteIdentifier(name)} as ${quoteIdentifier(name)}`,
  )
  // Joins only if needed, because a join repeats an incoming row that replaces several published rows with its key.
  const needsJoin = columns.some(({ name }) => keepsValue(name))
  const joinClause = needsJoin ? ` left join ${table} as live on ${sameKey}` : ''
  const deletedFilter = isDeleted ? ` where not ${isDeleted}` : ''
  const childFilter = isReplacedChild ? ` where not ${isReplacedChild}` : ''
  return `select ${incomingExpressions.join(', ')} from ${staging} as incoming${joinClause}${deletedFilter}
    union all select ${keptExpressions.join(', ')} from ${table} as live${antiJoin}${childFilter}`
}

/**
 * Returns the SQL condition that a row is a child row of one of the staged parent records. Compares ids as text,
 * because the parent and child tables may store them with different types.
 */
function isChildOf({ staging, keys, column }: StagedParents): string {
  const keyTexts = keys.map((key) => `toString(${quoteIdentifier(key)})`)
  const id = keyTexts.length === 1 ? keyTexts[0] : `concat(${keyTexts.join(`, '/', `)})`
  return `ifNull(toString(live.${quoteIdentifier(column)}), '') in (select ${id} from ${staging})`
}

/**
 * Returns the queries that count how a merge changes rows:
 *
 * - `loaded` counts the increment's rows that are not marked as deleted.
 * - `existing` counts those of them with a key that the table has too, those that differ from the table's row, and the
 *   rows that the increment deletes. Undefined if rows are appended.
 * - `replacedChildren` counts the child rows that the merge removes because the increment lacks them. Undefined if the
 *   rows are not child rows.
 */
function buildCountQueries(input: MergeInput) {
  const { staging, columns, keys, replacedColumns, currentShape } = input
  const conditions = buildMergeConditions(input)
  const { liveColumns, table, isAppend, sameKey, antiJoin, isReplacedChild, isDeleted = '0' } = conditions
  const differences = columns.flatMap(({ name, type }) => {
    if (keys.includes(name) || !replacedColumns.includes(name)) return []
    const incoming = `incoming.${quoteIdentifier(name)}`
    if (!liveColumns.has(name)) return [`isNotNull(${incoming})`]
    const live = `cast(live.${quoteIdentifier(name)} as Nullable(${type}))`
    return [`isNull(${incoming}) != isNull(${live})`, `ifNull(${incoming} != ${live}, 0)`]
  })
  const keyColumns = keys.map((key) => `incoming.${quoteIdentifier(key)}`).join(', ')
  const isDifferent = differences.length === 0 ? '0' : `(${differences.join(' or ')})`
  // Rows of the table can share a key if they were written without it. One of them is replaced, the others are removed.
  const countKeys = (condition: string) =>
    wasKeyedBy(currentShape.columns, keys) ? `countIf(${condition})` : `uniqExactIf((${keyColumns}), ${condition})`
  return {
    loaded: `select countIf(not ${isDeleted}) as loaded from ${staging} as incoming`,
    existing: isAppend
      ? undefined
      : `select ${countKeys(`not ${isDeleted}`)} as existing, existing - ${countKeys(`not ${isDeleted} and not ${isDifferent}`)} as changed,
           count() - existing as removed from ${table} as live inner join ${staging} as incoming on ${sameKey}`,
    replacedChildren:
      isReplacedChild && `select count() as removed from ${table} as live${antiJoin} where ${isReplacedChild}`,
  }
}

/** Returns how many rows of the table the merge will add, change and remove. */
export async function countMergedRows(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  parentLoad: ClickHouseStagedTable | undefined,
  { staging, currentShape }: { staging: ClickHouseShape; currentShape: ClickHouseShape },
  signal: AbortSignal,
): Promise<MergedRows> {
  const queries = buildCountQueries(createMergeInput(load, parentLoad, staging, currentShape))
  const count = async <Counts>(query: string): Promise<Counts> => {
    const settings = { ...joinSettings, max_execution_time: maxStatementSeconds }
    const [row] = await rowsOf<Counts>(access.load, query, { signal, settings })
    return row!
  }
  const { loaded } = await count<{ loaded: number }>(queries.loaded)
  const { existing, changed, removed } = queries.existing
    ? await count<{ existing: number; changed: number; removed: number }>(queries.existing)
    : { existing: 0, changed: 0, removed: 0 }
  const replacedChildren = queries.replacedChildren
    ? await count<{ removed: number }>(queries.replacedChildren)
    : { removed: 0 }
  return { added: loaded - existing, changed, removed: removed + replacedChildren.removed }
}

/** Returns the columns of the staging table, with the primary key of the load. */
function mergedColumns(load: ClickHouseStagedTable, staging: ClickHouseShape) {
  const keys = new Set(load.keys)
  return staging.columns.map((column) => ({ ...column, primaryKey: keys.has(column.name) }))
}

/** Returns what a merge of the load needs. Throws NULL_KEY if the table lacks a column of the key. */
function createMergeInput(
  load: ClickHouseStagedTable,
  parentLoad: ClickHouseStagedTable | undefined,
  staging: ClickHouseShape,
  currentShape: ClickHouseShape,
): MergeInput {
  assertKeysInTable(load, currentShape)
  return {
    staging: load.stagingTable,
    columns: mergedColumns(load, staging),
    keys: load.keys,
    replacedColumns: replacedColumns(load) ?? staging.columns.map(({ name }) => name),
    currentShape,
    parents: stagedParents(parentLoad, load.target.parentRecords),
    deletedColumn: load.target.deletedColumn,
  }
}

/**
 * Returns the query for all rows of a table merged with an increment. Throws NULL_KEY if the table lacks a column of
 * the key.
 */
const buildTableMergeQuery = (...loadAndTable: Parameters<typeof createMergeInput>): string =>
  buildMergeQuery(createMergeInput(...loadAndTable))

/**
 * Throws DUPLICATE_KEY if the merged table would have several rows with the same key, because its rows had another key
 * or none before.
 */
async function assertKeysUnique(
  { load: loadUser }: ClientAccess,
  load: ClickHouseStagedTable,
  parentLoad: ClickHouseStagedTable | undefined,
  { staging, currentShape }: { staging: ClickHouseShape; currentShape: ClickHouseShape },
  signal: AbortSignal,
): Promise<void> {
  if (load.keys.length === 0 || wasKeyedBy(currentShape.columns, load.keys)) return
  const mergedRows = `(${buildTableMergeQuery(load, parentLoad, staging, currentShape)})`
  const duplicates = await findDuplicates({ read: loadUser }, load.keys, mergedRows, signal, joinSettings)
  if (duplicates) throw duplicateKeyInTable(load, duplicates)
}

/** Returns the number of rows that `writeMergedTable` would write. Throws DUPLICATE_KEY. */
export async function countRowsAfterMerge(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  parentLoad: ClickHouseStagedTable | undefined,
  { staging, currentShape }: { staging: ClickHouseShape; currentShape: ClickHouseShape },
  signal: AbortSignal,
): Promise<number> {
  await assertKeysUnique(access, load, parentLoad, { staging, currentShape }, signal)
  const [row] = await rowsOf<{ rows: number }>(
    access.load,
    `select count() as rows from (${buildTableMergeQuery(load, parentLoad, staging, currentShape)})`,
    { signal, settings: { ...joinSettings, max_execution_time: maxStatementSeconds } },
  )
  return row!.rows
}

/**
 * Writes the merged table under a hidden name. Returns the load id, the table's UUID and its row count. Rewrites all
 * rows, so readers never see half of an increment and a repeated increment changes nothing. The query runs as the
 * organisation's user, so it reads only what the organisation may read. Throws DUPLICATE_KEY.
 */
export async function writeMergedTable(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  parentLoad: ClickHouseStagedTable | undefined,
  staging: ClickHouseShape,
  currentShape: ClickHouseShape,
  signal: AbortSignal,
): Promise<{ load: string; uuid: string; rows: number }> {
  await assertKeysUnique(access, load, parentLoad, { staging, currentShape }, signal)
  const columns = mergedColumns(load, staging)
  const mergeQuery = buildTableMergeQuery(load, parentLoad, staging, currentShape)
  const mergedLoad = randomUUID()
  const name = `merged_${mergedLoad}`
  const qualifiedName = qualifyName(load.database, name)
  await executeStatement(access.service, createTable(qualifiedName, columns, { ...load.metadata, load: mergedLoad }))
  const uuid = await uuidOf(access, load.database, name)
  const columnNames = columns.map((column) => quoteIdentifier(column.name)).join(', ')
  await executeStatement(access.load, `insert into ${qualifiedName} (${columnNames}) ${mergeQuery}`, {
    signal,
    settings: { ...joinSettings, insert_deduplicate: 0, max_execution_time: maxStatementSeconds },
  })
  const [countRow] = await rowsOf<{ rows: number }>(access.load, `select count() as rows from ${qualifiedName}`, {
    signal,
  })
  return { load: mergedLoad, uuid, rows: countRow!.rows }
}
