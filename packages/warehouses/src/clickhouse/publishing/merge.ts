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

/**
 * Builds the query for all rows of the merged table, in the column types of the staging table: the increment's rows
 * (alias `incoming`), and the published rows that stay (alias `live`).
 */
export function buildMergeQuery(input: MergeInput): string {
  return `${selectIncrementRows(input)}
    union all ${selectStayingRows(input)}`
}

/**
 * Returns the SELECT of the increment's rows, without those that are marked as deleted. In some columns, a row that
 * replaces a published row has the value of the published row, see `keepsPublishedValue`.
 */
function selectIncrementRows(input: MergeInput): string {
  const { staging, columns, keys, currentShape } = input
  const expressions = columns.map((column) => {
    const name = quoteIdentifier(column.name)
    return keepsPublishedValue(input, column.name) ? publishedExpression(input, column) : `incoming.${name} as ${name}`
  })
  // Joins only if needed, because a join repeats an incoming row that replaces several published rows with its key.
  const needsJoin = columns.some(({ name }) => keepsPublishedValue(input, name))
  const joinClause = needsJoin ? ` left join ${publishedName(currentShape)} as live on ${hasSameKey(keys)}` : ''
  const isDeleted = isMarkedAsDeleted(input)
  const deletedFilter = isDeleted ? ` where not ${isDeleted}` : ''
  return `select ${expressions.join(', ')} from ${staging} as incoming${joinClause}${deletedFilter}`
}

/**
 * Returns the SELECT of the published rows that stay: those with keys that the increment lacks, or all rows if the load
 * has no key. Earlier child rows of the staged parent records do not stay.
 */
function selectStayingRows(input: MergeInput): string {
  const expressions = input.columns.map((column) => publishedExpression(input, column))
  const isReplacedChild = isStagedChild(input)
  const childFilter = isReplacedChild ? ` where not ${isReplacedChild}` : ''
  return `select ${expressions.join(', ')} from ${publishedRowsWithoutIncrement(input)}${childFilter}`
}

const publishedName = ({ database, name }: MergeInput['currentShape']): string => qualifyName(database, name)

const hasColumn = ({ columns }: MergeInput['currentShape'], name: string): boolean =>
  columns.some((column) => column.name === name)

/** Returns the SQL condition that an increment's row `incoming` and a published row `live` have the same key. */
const hasSameKey = (keys: readonly string[]): string =>
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
  return keys.length === 0 ? table : `${table} left anti join ${staging} as incoming on ${hasSameKey(keys)}`
}

/** Returns the SQL condition that a row of the increment is marked as deleted. Undefined if no column marks rows. */
const isMarkedAsDeleted = ({ columns, deletedColumn }: MergeInput): string | undefined =>
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
function isStagedChild({ parents, currentShape }: MergeInput): string | undefined {
  if (!parents || !hasColumn(currentShape, parents.column)) return undefined
  const { staging, keys, column } = parents
  const keyTexts = keys.map((key) => `toString(${quoteIdentifier(key)})`)
  const parentId = keyTexts.length === 1 ? keyTexts[0] : `concat(${keyTexts.join(`, '/', `)})`
  return `ifNull(toString(live.${quoteIdentifier(column)}), '') in (select ${parentId} from ${staging})`
}

/** Returns the query for the number of the increment's rows that are not marked as deleted (`loaded`). */
const countLoadedQuery = (input: MergeInput): string =>
  `select countIf(not ${isMarkedAsDeleted(input) ?? '0'}) as loaded from ${input.staging} as incoming`

/**
 * Returns the query that compares the increment with the published rows of the same keys:
 *
 * - `existing`: the increment's rows that replace published rows.
 * - `changed`: those of them that differ from the published row.
 * - `removed`: the published rows that disappear, because the increment marks them as deleted, or because several of
 *   them have the key of one new row.
 */
function countExistingQuery(input: MergeInput): string {
  const { staging, keys, currentShape } = input
  const isDeleted = isMarkedAsDeleted(input) ?? '0'
  const keyColumns = keys.map((key) => `incoming.${quoteIdentifier(key)}`).join(', ')
  // Published rows can share a key if they were loaded without it. The join then repeats a row of the increment for
  // each of them, so distinct keys are counted instead of joined rows.
  const countKeys = (condition: string) =>
    wasKeyedBy(currentShape.columns, keys) ? `countIf(${condition})` : `uniqExactIf((${keyColumns}), ${condition})`
  const existingCount = countKeys(`not ${isDeleted}`)
  const unchangedCount = countKeys(`not ${isDeleted} and not ${isDifferent(input)}`)
  return `select ${existingCount} as existing, existing - ${unchangedCount} as changed, count() - existing as removed
    from ${publishedName(currentShape)} as live inner join ${staging} as incoming on ${hasSameKey(keys)}`
}

/** Returns the SQL condition that a row of the increment differs from the published row in a replaced column. */
function isDifferent({ columns, keys, replacedColumns, currentShape }: MergeInput): string {
  const differences = columns.flatMap(({ name, type }) => {
    if (keys.includes(name) || !replacedColumns.includes(name)) return []
    const incoming = `incoming.${quoteIdentifier(name)}`
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
function countReplacedChildrenQuery(input: MergeInput): string | undefined {
  const isReplacedChild = isStagedChild(input)
  return (
    isReplacedChild && `select count() as removed from ${publishedRowsWithoutIncrement(input)} where ${isReplacedChild}`
  )
}

/** Returns how many rows of the table the merge will add, change and remove. */
export async function countMergedRows(
  access: ClientAccess,
  load: ClickHouseStagedTable,
  parentLoad: ClickHouseStagedTable | undefined,
  { staging, currentShape }: { staging: ClickHouseShape; currentShape: ClickHouseShape },
  signal: AbortSignal,
): Promise<MergedRows> {
  const input = createMergeInput(load, parentLoad, staging, currentShape)
  const count = async <Counts>(query: string): Promise<Counts> => {
    const settings = { ...joinSettings, max_execution_time: maxStatementSeconds }
    const [row] = await rowsOf<Counts>(access.load, query, { signal, settings })
    return row!
  }
  const { loaded } = await count<{ loaded: number }>(countLoadedQuery(input))
  const { existing, changed, removed } =
    input.keys.length > 0
      ? await count<{ existing: number; changed: number; removed: number }>(countExistingQuery(input))
      : { existing: 0, changed: 0, removed: 0 }
  const childrenQuery = countReplacedChildrenQuery(input)
  const replacedChildren = childrenQuery ? await count<{ removed: number }>(childrenQuery) : { removed: 0 }
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
