import { keepsRows, type PublishOptions, type ReadyTable, WarehouseProblem } from './warehouse.ts'
import type { DataType, WriteMode } from '@sluice/contracts'
import { type DuplicateValues, findDuplicateKeyProblem } from './duplicate-key.ts'
import type { LoadTarget, PartOf, StagedRecords } from './load-target.ts'

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
 * Checks loads before readers see their rows: a merge must have a key, no two rows may have the same key, and then the
 * gate (quality checks) must accept the rows. The key checks are needed because these servers do not enforce unique
 * keys. Throws `WarehouseProblem` NO_PRIMARY_KEY or DUPLICATE_KEY, and the errors of the gate.
 */
export async function assertReadyToPublish<Load extends KeyedLoad>(
  loads: readonly Load[],
  { mode, gate, findDuplicates }: ReadinessChecks<Load>,
  signal: AbortSignal,
): Promise<void> {
  for (const load of loads) {
    assertMergeKey(load, mode)
    assertReplacedPartsKnown(load, mode)
    if (load.keys.length === 0) continue
    const problem = await findDuplicateKeyProblem(load, (columns) => findDuplicates(load, columns))
    if (problem) throw problem
  }
  await gate?.(
    loads.map((load) => describeReadyTable(load, keepsRows(mode), recordsOf(loads, load.target))),
    signal,
  )
}

export function describeReadyTable(
  load: StagedLoadState,
  merging: boolean,
  recordsLoad: Pick<StagedLoadState, 'stagingTable'> | undefined,
): ReadyTable {
  const { target, stagingTable, keys } = load
  const { schema, table, partOf, deletedColumn } = target
  const ready = { schema, table, staging: stagingTable }
  if (!merging) return ready
  const records = stagedRecords(recordsLoad, partOf)
  const columns = replacedColumns(load)
  const deletes = deletedColumn !== undefined && { deletedColumn }
  return { ...ready, merge: { keys, ...(columns && { columns }), ...(records && { records }), ...deletes } }
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

/** True if the table's last load had the same keys, so that its rows have no duplicate keys. */
export function wasKeyedBy(
  columns: readonly { name: string; primaryKey: boolean }[],
  keys: readonly string[],
): boolean {
  const keysBefore = columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name)
  return keysBefore.toSorted().join('\0') === keys.toSorted().join('\0')
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
 * Throws PART_COLUMN_MISSING if appended rows replace those of the same part of the source, such as a file, and a
 * transformation or `schemaChanges` removed the column that identifies the part. Otherwise the table would contain both
 * the earlier and the new rows of the part.
 */
export function assertReplacedPartsKnown(
  {
    qualifiedName,
    target: { partOf },
    brought,
  }: Pick<StagedLoadState, 'target' | 'brought'> & { qualifiedName: string },
  mode: WriteMode | undefined,
): void {
  if (mode !== 'APPEND' || !partOf || brought === undefined || brought.includes(partOf.column)) return
  throw new WarehouseProblem(
    'PART_COLUMN_MISSING',
    `Parts of the source changed, such as its objects, and their earlier rows cannot be found in ${qualifiedName}: the rows to load have no column "${partOf.column}". The old data stays. Keep the column in the transformation and in the table, or run once with "rebuild": true, which replaces all rows of the table.`,
  )
}

export interface IncrementColumns {
  /** The columns that the source or a transformation filled. Default: all columns of the staging table. */
  readonly brought?: readonly string[] | undefined
  /** All columns that the source has had since the table was last replaced. */
  readonly previouslySupplied: readonly string[]
}

/**
 * Returns the columns that take the increment's values. A row is a complete record, so a column of an earlier load that
 * this load lacks becomes NULL. Columns that the source never had keep their values, because a transformation filled
 * them.
 */
export const replacedColumns = ({
  brought: suppliedColumns,
  previouslySupplied,
}: IncrementColumns): string[] | undefined =>
  suppliedColumns && [...new Set([...suppliedColumns, ...previouslySupplied])]

/** Finds the load of the records to which the rows of `load`, another load of the same run, belong. */
export const recordsOf = <Load extends { readonly target: LoadTarget }>(
  loads: readonly Load[],
  { partOf, schema }: Pick<LoadTarget, 'partOf' | 'schema'>,
): Load | undefined => {
  if (!partOf) return undefined
  return loads.find(({ target }) => target.table === partOf.table && target.schema === schema)
}

/** Returns the staging table of the records, with the columns by which the parts refer to them. */
export const stagedRecords = (
  load: { readonly stagingTable: string } | undefined,
  partOf: PartOf | undefined,
): StagedRecords | undefined =>
  load && partOf && { staging: load.stagingTable, keys: partOf.keys, column: partOf.column }

interface DeletionMark {
  /** The name of the column that marks deleted rows, or undefined if no column does. */
  column: string | undefined
  /** The columns of the staging table with their types in the warehouse. */
  columns: readonly { name: string; type: string; dataType: DataType }[]
  /** Returns the SQL expression for a column. */
  expression(name: string): string
}

/**
 * Returns the SQL condition that a row of an increment is marked as deleted. Throws `WarehouseProblem`
 * DELETED_COLUMN_UNUSABLE if the column cannot mark rows.
 */
export function buildDeletedCondition({ column, columns, expression }: DeletionMark): string | undefined {
  if (column === undefined) return undefined
  const found = columns.find(({ name }) => name === column)
  const value = expression(column)
  // NULL means that the row is not deleted. The condition itself is never NULL, so that it can be negated.
  if (found?.dataType === 'BOOLEAN') return `(${value} is not null and ${value} = cast(1 as ${found.type}))`
  if (found && /^(SMALLINT|INTEGER|BIGINT|DECIMAL|FLOAT|DOUBLE)$/.test(found.dataType))
    return `(${value} is not null and ${value} <> 0)`
  if (found && /^(DATE|TIMESTAMP)/.test(found.dataType)) return `${value} is not null`
  throw new WarehouseProblem(
    'DELETED_COLUMN_UNUSABLE',
    found
      ? `The column "${column}", which marks deleted rows, is text in the warehouse. To give it the type of the source, run once with "rebuild": true, which replaces all rows of the table.`
      : `The column "${column}", which marks deleted rows, is missing in the rows to load. Keep it in the transformation.`,
  )
}
