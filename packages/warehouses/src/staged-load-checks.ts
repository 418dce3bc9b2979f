import { keepsRows, type PublishOptions, type ReadyTable, WarehouseProblem } from './warehouse.ts'
import type { DataType, WriteMode } from '@sluice/contracts'
import { type DuplicateValues, findDuplicateKeyProblem } from './duplicate-key.ts'
import type { LoadTarget, ParentRecords, StagedParents } from './load-target.ts'

interface StagedLoadState extends IncrementColumns {
  readonly target: LoadTarget
  /** The quoted SQL name of the staging table. */
  readonly stagingTable: string
  readonly keys: readonly string[]
}

interface KeyedLoad extends StagedLoadState {
  readonly qualifiedName: string
  /** Whether SQL statements changed the staged rows. */
  readonly transformed: boolean
}

interface ReadinessChecks<Load> {
  mode: WriteMode | undefined
  gate: PublishOptions['gate']
  /** Finds values of the columns that several rows of the staging table share. */
  findDuplicates(load: Load, columns: readonly string[]): Promise<DuplicateValues | undefined>
}

/**
 * Checks the loads of a run before readers see their rows. Throws `WarehouseProblem` or the errors of the gate:
 *
 * - NO_PRIMARY_KEY: a load merges its rows and has no key.
 * - PART_COLUMN_MISSING: appended rows replace others and lack the column that identifies those.
 * - DUPLICATE_KEY: rows of a load have the same key. These servers do not enforce unique keys.
 * - Last, the gate (quality checks) rejects the rows.
 */
export async function assertReadyToPublish<Load extends KeyedLoad>(
  loads: readonly Load[],
  { mode, gate, findDuplicates }: ReadinessChecks<Load>,
  signal: AbortSignal,
): Promise<void> {
  for (const load of loads) {
    assertMergeKey(load, mode)
    assertReplaceColumn(load, mode)
    if (load.keys.length === 0) continue
    const problem = await findDuplicateKeyProblem(load, (columns) => findDuplicates(load, columns))
    if (problem) throw problem
  }
  await gate?.(
    loads.map((load) => describeReadyTable(load, keepsRows(mode), findParentLoad(loads, load.target))),
    signal,
  )
}

/**
 * Describes a staged load for the gate. `keepsTableRows` is true if rows of the published table stay. `parentLoad` is
 * the load with the parent records, if the run has one.
 */
export function describeReadyTable(
  load: StagedLoadState,
  keepsTableRows: boolean,
  parentLoad: Pick<StagedLoadState, 'stagingTable'> | undefined,
): ReadyTable {
  const { target, stagingTable, keys } = load
  const { schema, table, parentRecords, deletedColumn } = target
  const readyTable = { schema, table, staging: stagingTable }
  if (!keepsTableRows) return readyTable
  const parents = stagedParents(parentLoad, parentRecords)
  const columns = replacedColumns(load)
  return {
    ...readyTable,
    merge: {
      keys,
      ...(columns && { columns }),
      ...(parents && { parents }),
      ...(deletedColumn !== undefined && { deletedColumn }),
    },
  }
}

/** Throws NULL_KEY if the published table lacks a column of the key, so that its rows have no value in it. */
export function assertKeysInTable(
  { qualifiedName, keys }: { qualifiedName: string; keys: readonly string[] },
  { columns }: { columns: readonly { name: string }[] },
): void {
  const missingKeys = keys.filter((key) => !columns.some(({ name }) => name === key))
  if (missingKeys.length === 0) return
  throw new WarehouseProblem(
    'NULL_KEY',
    `${qualifiedName} has rows without ${missingKeys.map((name) => `"${name}"`).join(', ')}, which belongs to the key. Choose another key, or run once with "rebuild": true, which replaces all rows of the table.`,
  )
}

/**
 * True if the table's last load had the same key columns, in any order. The rows of the table then have no duplicate
 * keys.
 */
export function wasKeyedBy(
  columns: readonly { name: string; primaryKey: boolean }[],
  keys: readonly string[],
): boolean {
  // NUL occurs in no column name, so equal texts mean equal names.
  const previousKeys = columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)
  return previousKeys.toSorted().join('\0') === keys.toSorted().join('\0')
}

/**
 * Throws NO_PRIMARY_KEY for a merge without a key. It could only append rows, and would append them again if repeated.
 */
export function assertMergeKey(
  { qualifiedName, keys }: { qualifiedName: string; keys: readonly string[] },
  mode: WriteMode | undefined,
): void {
  if (mode !== 'MERGE' || keys.length > 0) return
  throw new WarehouseProblem(
    'NO_PRIMARY_KEY',
    `Rows can be merged into ${qualifiedName} only by a primary key, and the source has none. Set mergeKey to the columns that identify a row, or load with writeMode REPLACE.`,
  )
}

/**
 * Appended rows can replace the earlier rows of the same part of the source, such as a file. A column with the part's
 * name identifies those rows. Throws PART_COLUMN_MISSING if a transformation or `schemaChanges` removed this column,
 * because the table would then contain both the earlier and the new rows.
 */
export function assertReplaceColumn(
  {
    qualifiedName,
    target: { parentRecords },
    filledColumns,
  }: Pick<StagedLoadState, 'target' | 'filledColumns'> & { qualifiedName: string },
  mode: WriteMode | undefined,
): void {
  const replacesParts = mode === 'APPEND' && parentRecords !== undefined
  if (!replacesParts) return
  const hasAllColumns = filledColumns === undefined
  if (hasAllColumns || filledColumns.includes(parentRecords.column)) return
  throw new WarehouseProblem(
    'PART_COLUMN_MISSING',
    `Parts of the source changed, such as its objects, and their earlier rows cannot be found in ${qualifiedName}: the rows to load have no column "${parentRecords.column}". The old data stays. Keep the column in the transformation and in the table, or run once with "rebuild": true, which replaces all rows of the table.`,
  )
}

export interface IncrementColumns {
  /** The columns that the source or a transformation filled. Default: all columns of the staging table. */
  readonly filledColumns?: readonly string[] | undefined
  /** All columns that the source has had since the table was last replaced. */
  readonly previouslySupplied: readonly string[]
}

/**
 * Returns the names of the columns in which an increment replaces the values of existing rows, or undefined for all
 * columns. A row is a complete record, so a column of an earlier load that this load lacks becomes NULL. Columns that
 * the source never had keep their values, because a transformation filled them.
 */
export const replacedColumns = ({ filledColumns, previouslySupplied }: IncrementColumns): string[] | undefined =>
  filledColumns && [...new Set([...filledColumns, ...previouslySupplied])]

/** Finds the load of the run that contains the parent records of a target. Undefined if the target has none. */
export const findParentLoad = <Load extends { readonly target: LoadTarget }>(
  loads: readonly Load[],
  { parentRecords, schema }: Pick<LoadTarget, 'parentRecords' | 'schema'>,
): Load | undefined => {
  if (!parentRecords) return undefined
  return loads.find(({ target }) => target.table === parentRecords.table && target.schema === schema)
}

/** Returns the staging table of the parent records, with the columns by which child rows refer to them. */
export const stagedParents = (
  load: { readonly stagingTable: string } | undefined,
  parentRecords: ParentRecords | undefined,
): StagedParents | undefined =>
  load && parentRecords && { staging: load.stagingTable, keys: parentRecords.keys, column: parentRecords.column }

interface DeletedColumnInput {
  /** The name of the column that marks deleted rows, or undefined if no column does. */
  column: string | undefined
  /** The columns of the staging table with their types in the warehouse. */
  columns: readonly { name: string; type: string; dataType: DataType }[]
  /** Returns the SQL expression for a column. */
  expression(name: string): string
}

/**
 * Returns the SQL condition that a row of an increment is marked as deleted. Returns undefined if no column marks rows.
 * Throws `WarehouseProblem` DELETED_COLUMN_UNUSABLE if the column is missing or its type cannot mark rows.
 */
export function buildDeletedCondition({ column, columns, expression }: DeletedColumnInput): string | undefined {
  if (column === undefined) return undefined
  const stagedColumn = columns.find(({ name }) => name === column)
  if (!stagedColumn)
    throw new WarehouseProblem(
      'DELETED_COLUMN_UNUSABLE',
      `The column "${column}", which marks deleted rows, is missing in the rows to load. Keep it in the transformation.`,
    )
  const value = expression(column)
  const { type, dataType } = stagedColumn
  // NULL means that the row is not deleted. The condition itself is never NULL, so that it can be negated. Not every
  // server has the literal `true`, so 1 is cast.
  if (dataType === 'BOOLEAN') return `(${value} is not null and ${value} = cast(1 as ${type}))`
  if (/^(SMALLINT|INTEGER|BIGINT|DECIMAL|FLOAT|DOUBLE)$/.test(dataType))
    return `(${value} is not null and ${value} <> 0)`
  if (/^(DATE|TIMESTAMP)/.test(dataType)) return `${value} is not null`
  throw new WarehouseProblem(
    'DELETED_COLUMN_UNUSABLE',
    `The column "${column}", which marks deleted rows, is text in the warehouse. To give it the type of the source, run once with "rebuild": true, which replaces all rows of the table.`,
  )
}
