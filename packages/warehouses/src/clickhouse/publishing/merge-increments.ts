import { randomUUID } from 'node:crypto'
import type { MergedRows, StagedParents } from '../../load-target.ts'
import {
  assertKeysInTable,
  buildDeletedCondition,
  replacedColumns,
  stagedParents,
  wasKeyedBy,
} from '../../staged-load-checks.ts'
import { duplicateKeyInTable, type DuplicateValues } from '../../duplicate-key.ts'
import { type ClientAccess, maxStatementSeconds } from '../clickhouse-settings.ts'
import { executeStatement, rowsOf, type ServerAccess } from '../protocol/http-client.ts'
import { type ClickHouseStagedTable, uuidOf } from '../staging/staged-table.ts'
import { qualifyName, quoteIdentifier } from '../sql-identifiers.ts'
import { type ClickHouseShape, createTable } from '../table-shape.ts'
import { describeType } from '../column-types.ts'

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

/**
 * Builds the query for all rows of the merged table, in the column types of the staging table: the increment's rows
 * (alias `incoming`), and the published rows that stay (alias `live`).
 */
export function buildMergeQuery(input: MergeInput): string {
  return `${selectIncrementRows(input)}
    union all ${selectStayingRows(input)}`
}

/**
 * Returns the SELECT of the increment's rows (alias `incoming`), without those that are marked as deleted. Columns that
 * only a transformation fills have the values of the published row with the same key (alias `live`).
 */
function selectIncrementRows(input: MergeInput): string {
  const { staging, columns, keys, currentShape } = input
  const expressions = columns.map((column) => {
    const name = quoteIdentifier(column.name)
    return keepsPublishedValue(input, column.name) ? publishedExpression(input, column) : `incoming.${name} as ${name}`
  })
  // Joins only for such a column, because the join repeats an incoming row if several published rows have its key.
  const needsPublishedRow = columns.some(({ name }) => keepsPublishedValue(input, name))
  const joinClause = needsPublishedRow
    ? ` left join ${publishedName(currentShape)} as live on ${sameKeyCondition(keys)}`
    : ''
  const deletedRow = deletedCondition(input)
  const deletedFilter = deletedRow ? ` where not ${deletedRow}` : ''
  return `select ${expressions.join(', ')} from ${staging} as incoming${joinClause}${deletedFilter}`
}

/**
 * Returns the SELECT of the published rows that stay: those with keys that the increment lacks, or all rows if the load
 * has no key. Earlier child rows of the staged parent records do not stay.
 */
function selectStayingRows(input: MergeInput): string {
  const expressions = input.columns.map((column) => publishedExpression(input, column))
  const replacedChild = stagedChildCondition(input)
  const childFilter = replacedChild ? ` where not ${replacedChild}` : ''
  return `select ${expressions.join(', ')} from ${publishedRowsWithoutIncrement(input)}${childFilter}`
}

const publishedName = ({ database, name }: MergeInput['currentShape']): string => qualifyName(database, name)

const hasColumn = ({ columns }: MergeInput['currentShape'], name: string): boolean =>
  columns.some((column) => column.name === name)

/** Returns the SQL condition that an increment's row `incoming` and a published row `live` have the same key. */
const sameKeyCondition = (keys: readonly string[]): string =>
  keys.map((key) => `incoming.${quoteIdentifier(key)} = live.${quoteIdentifier(key)}`).join(' and ')

/**
 * True if a row keeps its published value in this column when the increment replaces the row. The source never had such
 * a column; a transformation has filled it. Without a key, the increment replaces no row.
 */
const keepsPublishedValue = ({ keys, replacedColumns, currentShape }: MergeInput, name: string): boolean =>
  keys.length > 0 && !replacedColumns.includes(name) && hasColumn(currentShape, name)

/**
 * Returns the SELECT expression for a column of the published row `live`, in the column type of the staging table. The
 * value is NULL if the published table lacks the column.
 */
function publishedExpression(
  { currentShape }: MergeInput,
  { name, type, nullable }: MergeInput['columns'][number],
): string {
  const value = hasColumn(currentShape, name) ? `live.${quoteIdentifier(name)}` : 'null'
  const columnType = nullable ? `Nullable(${type})` : type
  return `cast(${value} as ${columnType}) as ${quoteIdentifier(name)}`
}

/** Returns the FROM list of the published rows `live` with keys that the increment lacks. Without keys, of all rows. */
function publishedRowsWithoutIncrement({ staging, keys, currentShape }: MergeInput): string {
  const table = `${publishedName(currentShape)} as live`
  return keys.length === 0 ? table : `${table} left anti join ${staging} as incoming on ${sameKeyCondition(keys)}`
}

/** Returns the SQL condition that a row of the increment is marked as deleted. Undefined if no column marks rows. */
const deletedCondition = ({ columns, deletedColumn }: MergeInput): string | undefined =>
  buildDeletedCondition({
    column: deletedColumn,
    columns: columns.map(({ name, type }) => ({ name, type, dataType: describeType(type).dataType })),
    expression: (name) => `incoming.${quoteIdentifier(name)}`,
  })

/**
 * Returns the SQL condition that the published row `live` is a child row of a staged parent record. Undefined if the
 * rows are not child rows. Compares ids as text, because the parent and child tables may store them with different
 * types.
 */
function stagedChildCondition({ parents, currentShape }: MergeInput): string | undefined {
  if (!parents || !hasColumn(currentShape, parents.column)) return undefined
  const { staging, keys, column } = parents
  const keyTexts = keys.map((key) => `toString(${quoteIdentifier(key)})`)
  const parentId = keyTexts.length === 1 ? keyTexts[0] : `concat(${keyTexts.join(`, '/', `)})`
  return `ifNull(toString(live.${quoteIdentifier(column)}), '') in (select ${parentId} from ${staging})`
}

/** Returns the query for the number of the increment's rows that are not marked as deleted (`loaded`). */
const loadedRowsQuery = (input: MergeInput): string =>
  `select countIf(not ${deletedCondition(input) ?? '0'}) as loaded from ${input.staging} as incoming`

/**
 * Returns the query that joins the published rows (alias `live`) with the increment's rows of the same keys (alias
 * `incoming`) and counts:
 *
 * - `existing`: the increment's rows that replace published rows.
 * - `changed`: those of them that differ from the published row.
 * - `removed`: the published rows that disappear, because the increment marks them as deleted, or because several of
 *   them have the key of one new row.
 */
function existingRowsQuery(input: MergeInput): string {
  const { staging, keys, currentShape } = input
  const deletedRow = deletedCondition(input) ?? '0'
  const keyColumns = keys.map((key) => `incoming.${quoteIdentifier(key)}`).join(', ')
  // Published rows can share a key if they were loaded without it. The join then repeats a row of the increment for
  // each of them, so distinct keys are counted instead of joined rows.
  const countIncoming = (condition: string) =>
    wasKeyedBy(currentShape.columns, keys) ? `countIf(${condition})` : `uniqExactIf((${keyColumns}), ${condition})`
  const existing = countIncoming(`not ${deletedRow}`)
  const unchanged = countIncoming(`not ${deletedRow} and not ${differenceCondition(input)}`)
  return `select ${existing} as existing, existing - ${unchanged} as changed, count() - existing as removed
    from ${publishedName(currentShape)} as live inner join ${staging} as incoming on ${sameKeyCondition(keys)}`
}

/**
 * Returns the SQL condition that a row of the increment differs from the published row in a replaced column. Compares
 * NULL separately, because `!=` returns NULL if a value is NULL.
 */
function differenceCondition({ columns, keys, replacedColumns, currentShape }: MergeInput): string {
  const comparedColumns = columns.filter(({ name }) => !keys.includes(name) && replacedColumns.includes(name))
  const differences = comparedColumns.flatMap(({ name, type }) => {
    const incoming = `incoming.${quoteIdentifier(name)}`
    // The published row has no value in a new column.
    if (!hasColumn(currentShape, name)) return [`isNotNull(${incoming})`]
    const live = `cast(live.${quoteIdentifier(name)} as Nullable(${type}))`
    return [`isNull(${incoming}) != isNull(${live})`, `ifNull(${incoming} != ${live}, 0)`]
  })
  return differences.length === 0 ? '0' : `(${differences.join(' or ')})`
}

/**
 * Returns the query for the number of child rows that the merge removes because the increment lacks them (`removed`).
 * Undefined if the rows are not child rows.
 */
function missingChildrenQuery(input: MergeInput): string | undefined {
  const replacedChild = stagedChildCondition(input)
  if (replacedChild === undefined) return undefined
  return `select count() as removed from ${publishedRowsWithoutIncrement(input)} where ${replacedChild}`
}

/** A load, the staging table with its rows, and the published table into which these rows are merged. */
interface TableMerge {
  load: ClickHouseStagedTable
  /** The load of the parent records, if the rows are child rows. */
  parentLoad: ClickHouseStagedTable | undefined
  staging: ClickHouseShape
  currentShape: ClickHouseShape
}

/** Settings for statements that read both tables of a merge. */
const mergeSettings = { ...joinSettings, max_execution_time: maxStatementSeconds }

/** Returns how many rows of the table the merge will add, change and remove. */
export async function countMergedRows(
  access: ClientAccess,
  merge: TableMerge,
  signal: AbortSignal,
): Promise<MergedRows> {
  const input = createMergeInput(merge)
  const readCounts = async <Counts>(query: string): Promise<Counts> => {
    const [row] = await rowsOf<Counts>(access.load, query, { signal, settings: mergeSettings })
    return row!
  }
  const { loaded } = await readCounts<{ loaded: number }>(loadedRowsQuery(input))
  const hasKey = input.keys.length > 0
  const { existing, changed, removed } = hasKey
    ? await readCounts<{ existing: number; changed: number; removed: number }>(existingRowsQuery(input))
    : { existing: 0, changed: 0, removed: 0 }
  const childrenQuery = missingChildrenQuery(input)
  const missingChildren = childrenQuery ? await readCounts<{ removed: number }>(childrenQuery) : { removed: 0 }
  return { added: loaded - existing, changed, removed: removed + missingChildren.removed }
}

/** Returns the columns of the staging table, with the primary key of the load. */
function mergedColumns({ load, staging }: TableMerge) {
  const keys = new Set(load.keys)
  return staging.columns.map((column) => ({ ...column, primaryKey: keys.has(column.name) }))
}

/** Collects the tables, columns and keys for the SQL of a merge. Throws NULL_KEY if the table lacks a key column. */
function createMergeInput(merge: TableMerge): MergeInput {
  const { load, parentLoad, staging, currentShape } = merge
  assertKeysInTable(load, currentShape)
  const allColumns = staging.columns.map(({ name }) => name)
  return {
    staging: load.stagingTable,
    columns: mergedColumns(merge),
    keys: load.keys,
    // A merge replaces all columns, except those that only a transformation fills.
    replacedColumns: replacedColumns(load) ?? allColumns,
    currentShape,
    parents: stagedParents(parentLoad, load.target.parentRecords),
    deletedColumn: load.target.deletedColumn,
  }
}

/**
 * Returns the query for all rows of a table merged with an increment. Throws NULL_KEY if the table lacks a column of
 * the key.
 */
const buildTableMergeQuery = (merge: TableMerge): string => buildMergeQuery(createMergeInput(merge))

/**
 * Throws DUPLICATE_KEY if the merged table would have several rows with the same key. That is only possible if the
 * published rows had another key or none before.
 */
async function assertKeysUnique(access: ClientAccess, merge: TableMerge, signal: AbortSignal): Promise<void> {
  const { load, currentShape } = merge
  if (load.keys.length === 0 || wasKeyedBy(currentShape.columns, load.keys)) return
  const mergedRows = `(${buildTableMergeQuery(merge)})`
  const duplicates = await findDuplicates(access.load, load.keys, mergedRows, signal, joinSettings)
  if (duplicates) throw duplicateKeyInTable(load, duplicates)
}

/** Returns the number of rows that `writeMergedTable` would write. Throws DUPLICATE_KEY. */
export async function countRowsAfterMerge(
  access: ClientAccess,
  merge: TableMerge,
  signal: AbortSignal,
): Promise<number> {
  await assertKeysUnique(access, merge, signal)
  const [row] = await rowsOf<{ rows: number }>(
    access.load,
    `select count() as rows from (${buildTableMergeQuery(merge)})`,
    { signal, settings: mergeSettings },
  )
  return row!.rows
}

/**
 * Writes the merged table to the run's database, where readers do not see it. Returns the load id, the table's UUID and
 * its row count. Rewrites all rows, so readers never see half of an increment and a repeated increment changes nothing.
 * The query runs as the organisation's user, so it reads only what the organisation may read. Throws DUPLICATE_KEY.
 */
export async function writeMergedTable(
  access: ClientAccess,
  merge: TableMerge,
  signal: AbortSignal,
): Promise<{ load: string; uuid: string; rows: number }> {
  await assertKeysUnique(access, merge, signal)
  const { database, metadata } = merge.load
  const columns = mergedColumns(merge)
  const mergeQuery = buildTableMergeQuery(merge)
  const mergedLoad = randomUUID()
  const name = `merged_${mergedLoad}`
  const qualifiedName = qualifyName(database, name)
  await executeStatement(access.service, createTable(qualifiedName, columns, { ...metadata, load: mergedLoad }))
  const uuid = await uuidOf(access, database, name)
  const columnNames = columns.map((column) => quoteIdentifier(column.name)).join(', ')
  // Deduplication would drop a block of rows that equals an earlier one.
  const settings = { ...mergeSettings, insert_deduplicate: 0 }
  await executeStatement(access.load, `insert into ${qualifiedName} (${columnNames}) ${mergeQuery}`, {
    signal,
    settings,
  })
  const [countRow] = await rowsOf<{ rows: number }>(access.load, `select count() as rows from ${qualifiedName}`, {
    signal,
  })
  return { load: mergedLoad, uuid, rows: countRow!.rows }
}

/**
 * Finds one combination of the columns' values that several rows share, and the number of these rows. Returns undefined
 * if none exists. `from` is a table or a subquery, which is read as `user`.
 */
export async function findDuplicates(
  user: ServerAccess,
  columns: readonly string[],
  from: string,
  signal: AbortSignal,
  settings: Record<string, string | number> = {},
): Promise<DuplicateValues | undefined> {
  const names = columns.map((name) => quoteIdentifier(name))
  const [duplicate] = await rowsOf<{ values: string[]; rows: string | number }>(
    user,
    `select [${names.map((name) => `ifNull(toString(${name}), '')`).join(', ')}] as values, count() as rows
     from ${from} group by ${names.join(', ')} having count() > 1 limit 1`,
    {
      signal,
      settings: {
        max_bytes_before_external_group_by: 2 ** 30,
        optimize_aggregation_in_order: 1,
        max_execution_time: maxStatementSeconds,
        ...settings,
      },
    },
  )
  return duplicate && { values: duplicate.values, rows: Number(duplicate.rows) }
}
