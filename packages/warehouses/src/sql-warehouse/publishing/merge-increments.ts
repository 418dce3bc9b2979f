import { countRows, createFillableTable, hiddenName, type TableShape, withSession } from '../table-shape.ts'
import type { StagedParents } from '../../load-target.ts'
import {
  assertKeysInTable,
  buildDeletedCondition,
  replacedColumns,
  stagedParents,
  wasKeyedBy,
} from '../../staged-load-checks.ts'
import { duplicateKeyInTable, type DuplicateValues } from '../../duplicate-key.ts'
import { columnsToReplace } from '../../shape/previous-source-columns.ts'
import { previousSourceShape } from '../staging/plan-load.ts'
import type { TablePlace } from '../../catalog.ts'
import type { SqlDialect } from '../sql-dialect.ts'
import { type SqlStagedTable } from '../staging/staged-table.ts'
import type { RelationMetadata } from '../publication-ledger.ts'
import { tableMetadata, type StagingColumn } from '../staging/staging-columns.ts'

/** An increment (new and changed rows) in a staging table, and how to merge it into the published table. */
export interface MergeInput {
  /** The quoted SQL name of the staging table. */
  staging: string
  columns: readonly { name: string; type: string }[]
  keys: readonly string[]
  /** The columns that take the increment's values. Other columns of a matched row keep their values. */
  replaced: readonly string[]
  currentShape: TableShape
  /** Set if the rows are child rows. All staged child rows of a parent record then replace its earlier child rows. */
  parents?: StagedParents | undefined
  /** The name of the column that marks deleted rows. */
  deletedColumn?: string | undefined
}

/**
 * Builds the query for all rows of the merged table, in the column types of the staging table: the increment's rows
 * (alias `incoming`), and the published rows that stay (alias `live`).
 */
export function buildMergeQuery(dialect: SqlDialect, input: MergeInput): string {
  return `${selectIncrementRows(dialect, input)}
union all
${selectStayingRows(dialect, input)}`
}

/**
 * Returns the SELECT of the increment's rows, without those that are marked as deleted. In the columns that the source
 * never had (`keepsPublishedValue`), a row has the value of the published row with the same key.
 */
function selectIncrementRows(dialect: SqlDialect, input: MergeInput): string {
  const { staging, columns, keys, currentShape, deletedColumn } = input
  const { names, types } = dialect
  const incomingColumn = (name: string) => `incoming.${names.quoted(name)}`
  const keptColumns = columns.filter(({ name }) => keepsPublishedValue(input, name))
  const expressions = columns.map((column) =>
    keptColumns.includes(column)
      ? publishedExpression(dialect, input, column)
      : `${incomingColumn(column.name)} as ${names.quoted(column.name)}`,
  )
  // Joins only if needed, because the join repeats an incoming row if several published rows have its key.
  const joinClause =
    keptColumns.length > 0 ? ` left join ${names.place(currentShape)} as live on ${hasSameKey(dialect, keys)}` : ''
  const isDeleted = buildDeletedCondition({
    column: deletedColumn,
    columns: columns.map(({ name, type }) => ({ name, type, dataType: types.describe(type).dataType })),
    expression: incomingColumn,
  })
  const deletedFilter = isDeleted ? ` where not (${isDeleted})` : ''
  return `select ${expressions.join(', ')} from ${staging} as incoming${joinClause}${deletedFilter}`
}

/**
 * Returns the SELECT of the published rows that stay: those with keys that the increment lacks, or all rows if the load
 * has no key. Earlier child rows of the staged parent records do not stay.
 */
function selectStayingRows(dialect: SqlDialect, input: MergeInput): string {
  const { staging, columns, keys, currentShape, parents } = input
  const conditions: string[] = []
  if (keys.length > 0)
    conditions.push(`not exists (select 1 from ${staging} as incoming where ${hasSameKey(dialect, keys)})`)
  if (parents && hasColumn(currentShape, parents.column)) conditions.push(`not ${isChildOf(dialect, parents)}`)
  const filter = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  const expressions = columns.map((column) => publishedExpression(dialect, input, column))
  return `select ${expressions.join(', ')} from ${dialect.names.place(currentShape)} as live${filter}`
}

const hasColumn = ({ columns }: TableShape, name: string): boolean => columns.some((column) => column.name === name)

/** Returns the SQL condition that an increment's row `incoming` and a published row `live` have the same key. */
const hasSameKey = ({ names: { quoted } }: SqlDialect, keys: readonly string[]): string =>
  keys.map((key) => `incoming.${quoted(key)} = live.${quoted(key)}`).join(' and ')

/**
 * True if a row keeps its published value in this column when the increment replaces the row. The source never had such
 * a column; a transformation has filled it. Without a key, the increment replaces no row.
 */
const keepsPublishedValue = ({ keys, replaced, currentShape }: MergeInput, name: string): boolean =>
  keys.length > 0 && !replaced.includes(name) && hasColumn(currentShape, name)

/**
 * Returns the SELECT expression for a column of the published row `live`, in the column type of the staging table. The
 * value is NULL if the published table lacks the column.
 */
function publishedExpression(
  { names: { quoted } }: SqlDialect,
  { currentShape }: MergeInput,
  { name, type }: MergeInput['columns'][number],
): string {
  const value = hasColumn(currentShape, name) ? `live.${quoted(name)}` : 'null'
  return `cast(${value} as ${type}) as ${quoted(name)}`
}

/**
 * Returns the SQL condition that the published row `live` is a child row of a staged parent record. Compares ids as
 * text, because the parent and child tables may store them with different types.
 */
function isChildOf({ names, types }: SqlDialect, { staging, keys, column }: StagedParents): string {
  const castToText = (value: string) => `cast(${value} as ${types.longText})`
  const [firstKey = '', ...otherKeys] = keys.map((key) => castToText(`record.${names.quoted(key)}`))
  // The id consists of the keys joined by a slash. Each `concat` has two texts, because some servers allow no more.
  let parentId = firstKey
  for (const key of otherKeys) parentId = `concat(${parentId}, concat('/', ${key}))`
  const idInChild = castToText(`live.${names.quoted(column)}`)
  return `exists (select 1 from ${staging} as record where ${parentId} = ${idInChild})`
}

/** A hidden table with the published rows and the increment merged. */
export interface MergedTable extends TablePlace {
  id: string
  rows: number
}

/**
 * Writes the merged table under a hidden name. Rewrites all rows, so readers never see half of an increment and a
 * repeated increment changes nothing. The query runs as the organisation's user, so it reads only what the organisation
 * may read. Throws NULL_KEY if the table lacks a column of the key, and DUPLICATE_KEY.
 */
export async function writeMergedTable(
  dialect: SqlDialect,
  load: SqlStagedTable,
  parentLoad: SqlStagedTable | undefined,
  currentShape: TableShape,
  signal: AbortSignal,
): Promise<MergedTable> {
  assertKeysInTable(load, currentShape)
  const { id, place, columns } = await createMergedTable(dialect, load, currentShape, signal)
  const columnNames = columns.map(({ name }) => name)
  const mergeQuery = buildMergeQuery(dialect, createMergeInput(load, columns, parentLoad, currentShape))
  const rows = await withSession(dialect, { role: 'load', signal }, async (session) => {
    for (const statement of dialect.changes.insert(place, columnNames, mergeQuery)) await session.execute(statement)
    return countRows(dialect, session, place)
  })
  // If the table's rows were loaded with another key or none, several of them can have the same key.
  const mayHaveDuplicates = load.keys.length > 0 && !wasKeyedBy(currentShape.columns, load.keys)
  if (mayHaveDuplicates) {
    const duplicates = await findDuplicates(dialect, load.keys, dialect.names.place(place), signal)
    if (duplicates) throw duplicateKeyInTable(load, duplicates)
  }
  return { ...place, id, rows }
}

function createMergeInput(
  load: SqlStagedTable,
  columns: readonly StagingColumn[],
  parentLoad: SqlStagedTable | undefined,
  currentShape: TableShape,
): MergeInput {
  const { filledColumns, target } = load
  const previouslySupplied = columnsToReplace(previousSourceShape(currentShape), target.shape)
  return {
    staging: load.stagingTable,
    columns,
    keys: load.keys,
    replaced: replacedColumns({ filledColumns, previouslySupplied })!,
    currentShape,
    parents: stagedParents(parentLoad, target.parentRecords),
    deletedColumn: target.deletedColumn,
  }
}

/** Creates the empty table for the merged rows under a hidden name. The load's key is its primary key. */
async function createMergedTable(
  dialect: SqlDialect,
  load: SqlStagedTable,
  currentShape: TableShape,
  signal: AbortSignal,
): Promise<{ id: string; place: TablePlace; columns: StagingColumn[] }> {
  const { run, attempt, schema, table } = load.target
  const place = { schema, name: hiddenName('merged', load.staging, currentShape.id) }
  const keys = new Set(load.keys)
  const columns = load.columns.map((column): StagingColumn => {
    const isKey = keys.has(column.name)
    return { ...column, primaryKey: isKey, nullable: !isKey }
  })
  const metadata: RelationMetadata = {
    kind: 'STAGING',
    run,
    attempt,
    target: [schema, table],
    ...tableMetadata(dialect.types, columns),
  }
  const id = await withSession(dialect, { role: 'service', signal }, (session) =>
    createFillableTable(dialect, session, place, columns, metadata),
  )
  return { id, place, columns }
}

/** Finds values of the columns that several rows of `table` share. Returns undefined if none exist. */
export async function findDuplicates(
  dialect: SqlDialect,
  columns: readonly string[],
  table: string,
  signal: AbortSignal,
): Promise<DuplicateValues | undefined> {
  const names = columns.map((name) => dialect.names.quoted(name)).join(', ')
  const text = `select ${names}, count(*) from ${table} group by ${names} having count(*) > 1`
  return withSession(dialect, { role: 'read', signal }, async (session) => {
    // Only the first batch is read.
    for await (const { rows } of session.read(text, [], { rows: 1, bytes: () => 1 })) {
      const [duplicate] = rows
      if (!duplicate) return undefined
      const values = duplicate.map((cell) => (typeof cell === 'object' ? JSON.stringify(cell) : String(cell)))
      // The last column is the number of rows with these values.
      return { values: values.slice(0, -1), rows: Number(values.at(-1)) }
    }
    return undefined
  })
}
