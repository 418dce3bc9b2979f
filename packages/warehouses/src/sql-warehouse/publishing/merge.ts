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
import { previousSourceShape } from '../staging/plan-table.ts'
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
 * Builds the query for all rows of the merged table, in the column types of the staging table: the increment's rows,
 * and the rows of the table with other keys. Without keys, these are all rows of the table. Leaves out rows that the
 * increment marks as deleted, and earlier child rows of the increment's parent records.
 */
export function buildMergeQuery(
  dialect: SqlDialect,
  { staging, columns, keys, replaced, currentShape, parents, deletedColumn }: MergeInput,
): string {
  const { names } = dialect
  const { quoted } = names
  const liveColumns = new Set(currentShape.columns.map(({ name }) => name))
  const table = names.place(currentShape)
  const isAppend = keys.length === 0
  const sameKey = keys.map((key) => `incoming.${quoted(key)} = live.${quoted(key)}`).join(' and ')
  const keptExpressions = columns.map(({ name, type }) => {
    const value = liveColumns.has(name) ? `live.${quoted(name)}` : 'null'
    return `cast(${value} as ${type}) as ${quoted(name)}`
  })
  const keptRowConditions = [
    ...(isAppend ? [] : [`not exists (select 1 from ${staging} as incoming where ${sameKey})`]),
    ...(parents && liveColumns.has(parents.column) ? [`not ${isChildOf(dialect, parents)}`] : []),
  ]
  const keepsValue = (name: string) => !isAppend && !replaced.includes(name) && liveColumns.has(name)
  const incomingExpressions = columns.map(({ name }, index) =>
    keepsValue(name) ? keptExpressions[index]! : `incoming.${quoted(name)} as ${quoted(name)}`,
  )
  const isDeleted = buildDeletedCondition({
    column: deletedColumn,
    columns: columns.map(({ name, type }) => ({ name, type, dataType: dialect.types.describe(type).dataType })),
    expression: (name) => `incoming.${quoted(name)}`,
  })
  const deletedFilter = isDeleted ? ` where not (${isDeleted})` : ''
  // Joins only if needed, because a join repeats an incoming row that replaces several published rows with its key.
  const needsJoin = columns.some(({ name }) => keepsValue(name))
  const joinClause = needsJoin ? ` left join ${table} as live on ${sameKey}` : ''
  const keptRowFilter = keptRowConditions.length > 0 ? ` where ${keptRowConditions.join(' and ')}` : ''
  return `select ${incomingExpressions.join(', ')} from ${staging} as incoming${joinClause}${deletedFilter}
union all
select ${keptExpressions.join(', ')} from ${table} as live${keptRowFilter}`
}

/**
 * Returns the SQL condition that a row is a child row of one of the staged parent records. Compares ids as text,
 * because the parent and child tables may store them with different types.
 */
function isChildOf({ names, types }: SqlDialect, { staging, keys, column }: StagedParents): string {
  const text = (value: string) => `cast(${value} as ${types.longText})`
  const keyTexts = keys.map((key) => text(`record.${names.quoted(key)}`))
  // Some servers concatenate at most two texts per call.
  const id = keyTexts.reduce((joinedTexts, keyText) => `concat(${joinedTexts}, concat('/', ${keyText}))`)
  return `exists (select 1 from ${staging} as record where ${id} = ${text(`live.${names.quoted(column)}`)})`
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
  const place = { schema: load.target.schema, name: hiddenName('merged', load.staging, currentShape.id) }
  const keys = new Set(load.keys)
  const columns = load.columns.map(
    (column): StagingColumn => ({
      ...column,
      primaryKey: keys.has(column.name),
      nullable: !keys.has(column.name),
    }),
  )
  const { run, attempt, schema, table } = load.target
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
  const mergeInput = {
    staging: load.stagingTable,
    columns,
    keys: load.keys,
    replaced: replacedColumns({
      filledColumns: load.filledColumns,
      previouslySupplied: columnsToReplace(previousSourceShape(currentShape), load.target.shape),
    })!,
    currentShape,
    parents: stagedParents(parentLoad, load.target.parentRecords),
    deletedColumn: load.target.deletedColumn,
  }
  const rows = await withSession(dialect, { role: 'load', signal }, async (session) => {
    const names = columns.map(({ name }) => name)
    for (const statement of dialect.changes.insert(place, names, buildMergeQuery(dialect, mergeInput)))
      await session.execute(statement)
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
