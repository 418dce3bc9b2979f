import { randomUUID } from 'node:crypto'
import type { MergedRows, StagedRecords } from '../../load-target.ts'
import {
  assertKeysInTable,
  buildDeletedCondition,
  replacedColumns,
  stagedRecords,
  wasKeyedBy,
} from '../../ready-to-publish.ts'
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
  /** Set if several rows form one record. All staged rows of a record then replace all its earlier rows. */
  records?: StagedRecords | undefined
  /** The name of the column that marks deleted rows. */
  deletedColumn?: string | undefined
}

/** Returns the SQL parts that the queries of a merge share. */
function buildMergeParts({ staging, columns, keys, currentShape, records, deletedColumn }: MergeInput) {
  const liveColumns = new Set(currentShape.columns.map(({ name }) => name))
  const sameKey = keys.map((key) => `incoming.${quoteIdentifier(key)} = live.${quoteIdentifier(key)}`).join(' and ')
  const isAppend = keys.length === 0
  return {
    liveColumns,
    table: qualifyName(currentShape.database, currentShape.name),
    isAppend,
    sameKey,
    /** Keeps the rows of the table whose keys the increment lacks. */
    antiJoin: isAppend ? '' : ` left anti join ${staging} as incoming on ${sameKey}`,
    /**
     * The condition that a row of the table is a part of a staged record; undefined if the table has no parts of
     * records.
     */
    isReplacedPart: records && liveColumns.has(records.column) ? isPartOf(records) : undefined,
    /** The condition that a row of the increment is marked as deleted; undefined if no column marks rows. */
    isDeleted: buildDeletedCondition({
      column: deletedColumn,
      columns: columns.map(({ name, type }) => ({ name, type, dataType: describeType(type).dataType })),
      expression: (name) => `incoming.${quoteIdentifier(name)}`,
    }),
  }
}

/**
 * Builds the query for all rows of the merged table, in the column types of the staging table. Without keys, the
 * increment's rows are appended. Leaves out rows that the increment marks as deleted, and earlier parts of its records.
 */
export function buildMergeQuery(input: MergeInput): string {
  const { staging, columns, replacedColumns } = input
  const { liveColumns, table, isAppend, sameKey, antiJoin, isReplacedPart, isDeleted } = buildMergeParts(input)
  const keptExpressions = columns.map(({ name, type, nullable }) => {
    const value = liveColumns.has(name) ? `live.${quoteIdentifier(name)}` : 'null'
    return `cast(${value} as ${nullable ? `Nullable(${type})` : type}) as ${quoteIdentifier(name)}`
  })
  const incomingExpressions = columns.map(({ name }, index) =>
    isAppend || replacedColumns.includes(name) || !liveColumns.has(name)
      ? `incoming.${quoteIdentifier(name)} as ${quoteIdentifier(name)}`
      : keptExpressions[index]!,
  )
  // Joins only if needed, because a join repeats an incoming row that replaces several published rows with its key.
  const needsLive = !isAppend && columns.some(({ name }) => !replacedColumns.includes(name) && liveColumns.has(name))
  const joinClause = needsLive ? ` left join ${table} as live on ${sameKey}` : ''
  const deletedFilter = isDeleted ? ` where not ${isDeleted}` : ''
  const partFilter = isReplacedPart ? ` where not ${isReplacedPart}` : ''
  return `select ${incomingExpressions.join(', ')} from ${staging} as incoming${joinClause}${deletedFilter}
    union all select ${keptExpressions.join(', ')} from ${table} as live${antiJoin}${partFilter}`
}

/**
 * Returns the SQL condition that a row is a part of one of the staged records. Compares ids as text, because the
 * tables of records and parts may store them with different types.
 */
function isPartOf({ staging, keys, column }: StagedRecords): string {
  const keyTexts = keys.map((key) => `toString(${quoteIdentifier(key)})`)
  const id = keyTexts.length === 1 ? keyTexts[0] : `concat(${keyTexts.join(`, '/', `)})`
  return `ifNull(toString(live.${quoteIdentifier(column)}), '') in (select ${id} from ${staging})`
}

/**
 * Returns the queries that count how a merge changes rows: those of the increment, those of them that the table has
 * too, and the parts of records that it removes.
 */
function buildCountQueries(input: MergeInput) {
  const { staging, columns, keys, replacedColumns, currentShape } = input
  const parts = buildMergeParts(input)
  const { liveColumns, table, isAppend, sameKey, antiJoin, isReplacedPart, isDeleted = '0' } = parts
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
    parts: isReplacedPart && `select count() as removed from ${table} as live${antiJoin} where ${isReplacedPart}`,
  }
}

/** Counts how the merge will change the rows of the table. */
export async function countMergedRows(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  records: ClickHouseStagedTable | undefined,
  { staging, currentShape }: { staging: ClickHouseShape; currentShape: ClickHouseShape },
  signal: AbortSignal,
): Promise<MergedRows> {
  const queries = buildCountQueries(createMergeInput(load, records, staging, currentShape))
  const count = async <Counts>(query: string): Promise<Counts> => {
    const settings = { ...joinSettings, max_execution_time: maxStatementSeconds }
    const [row] = await rowsOf<Counts>(access.load, query, { signal, settings })
    return row!
  }
  const { loaded } = await count<{ loaded: number }>(queries.loaded)
  const { existing, changed, removed } = queries.existing
    ? await count<{ existing: number; changed: number; removed: number }>(queries.existing)
    : { existing: 0, changed: 0, removed: 0 }
  const parts = queries.parts ? await count<{ removed: number }>(queries.parts) : { removed: 0 }
  return { added: loaded - existing, changed, removed: removed + parts.removed }
}

/** Returns the columns of the staging table, with the primary key of the load. */
function mergedColumns(load: ClickHouseStagedTable, staging: ClickHouseShape) {
  const keys = new Set(load.keys)
  return staging.columns.map((column) => ({ ...column, primaryKey: keys.has(column.name) }))
}

/** Returns what a merge of the load needs. Throws NULL_KEY if the table lacks a column of the key. */
function createMergeInput(
  load: ClickHouseStagedTable,
  records: ClickHouseStagedTable | undefined,
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
    records: stagedRecords(records, load.target.partOf),
    deletedColumn: load.target.deletedColumn,
  }
}

/**
 * Returns the query for all rows of a table merged with an increment. Throws NULL_KEY if the table lacks a column of
 * the key.
 */
const buildTableMergeQuery = (...merge: Parameters<typeof createMergeInput>): string =>
  buildMergeQuery(createMergeInput(...merge))

/**
 * Throws DUPLICATE_KEY if the merged table would have several rows with the same key, because its rows had another key
 * or none before.
 */
async function assertKeysUnique(
  { load: user }: ClientAccess,
  load: ClickHouseStagedTable,
  records: ClickHouseStagedTable | undefined,
  { staging, currentShape }: { staging: ClickHouseShape; currentShape: ClickHouseShape },
  signal: AbortSignal,
): Promise<void> {
  if (load.keys.length === 0 || wasKeyedBy(currentShape.columns, load.keys)) return
  const merged = `(${buildTableMergeQuery(load, records, staging, currentShape)})`
  const twice = await findDuplicates({ read: user }, load.keys, merged, signal, joinSettings)
  if (twice) throw duplicateKeyInTable(load, twice)
}

/** Returns the number of rows that `writeMergedTable` would write. Throws DUPLICATE_KEY. */
export async function countMerged(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  records: ClickHouseStagedTable | undefined,
  { staging, currentShape }: { staging: ClickHouseShape; currentShape: ClickHouseShape },
  signal: AbortSignal,
): Promise<number> {
  await assertKeysUnique(access, load, records, { staging, currentShape }, signal)
  const [row] = await rowsOf<{ rows: number }>(
    access.load,
    `select count() as rows from (${buildTableMergeQuery(load, records, staging, currentShape)})`,
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
  records: ClickHouseStagedTable | undefined,
  staging: ClickHouseShape,
  currentShape: ClickHouseShape,
  signal: AbortSignal,
): Promise<{ load: string; uuid: string; rows: number }> {
  await assertKeysUnique(access, load, records, { staging, currentShape }, signal)
  const columns = mergedColumns(load, staging)
  const mergeQuery = buildTableMergeQuery(load, records, staging, currentShape)
  const mergedLoad = randomUUID()
  const name = `merged_${mergedLoad}`
  const qualifiedName = qualifyName(load.database, name)
  await executeStatement(access.service, createTable(qualifiedName, columns, { ...load.mark, load: mergedLoad }))
  const uuid = await uuidOf(access, load.database, name)
  const columnNames = columns.map((column) => quoteIdentifier(column.name)).join(', ')
  await executeStatement(access.load, `insert into ${qualifiedName} (${columnNames}) ${mergeQuery}`, {
    signal,
    settings: { ...joinSettings, insert_deduplicate: 0, max_execution_time: maxStatementSeconds },
  })
  const [counted] = await rowsOf<{ rows: number }>(access.load, `select count() as rows from ${qualifiedName}`, {
    signal,
  })
  return { load: mergedLoad, uuid, rows: counted!.rows }
}
