import type { Column, RowStream } from '@sluice/row-stream'
import { LoadProblem, type ParentRecords, type PublishOptions } from './warehouse.ts'

interface WriteRequest {
  mode?: PublishOptions['mode']
  mergeKey?: readonly string[] | undefined
  /** `table` is the pipeline's target table. A source with several tables also loads other tables. */
  target: { table: string }
}

/**
 * Returns the columns of a row stream with the key by which its rows are written. APPEND uses no key. In the pipeline's
 * target table, `mergeKey` replaces the source's key if it is set. Otherwise the columns keep the source's key. Throws
 * `LoadProblem` KEY_COLUMN_MISSING.
 */
export function withKey(columns: readonly Column[], table: string, { mode, mergeKey, target }: WriteRequest): Column[] {
  if (mode === 'APPEND') return columns.map((column) => ({ ...column, primaryKey: false }))
  const isTargetTable = table === target.table
  if (!mergeKey || !isTargetTable) return [...columns]
  const keys = findKeyColumns(columns, mergeKey)
  return columns.map((column) => ({ ...column, primaryKey: keys.includes(column.name) }))
}

/** Returns the names that the key columns have in the table. Throws `LoadProblem` KEY_COLUMN_MISSING. */
function findKeyColumns(columns: readonly Column[], mergeKey: readonly string[]): string[] {
  return mergeKey.map((key) => {
    const name = findColumn(columns, key)
    if (name === undefined) throw new LoadProblem('KEY_COLUMN_MISSING', describeMissingKey(columns, key))
    return name
  })
}

/** Finds a column by its name in the table or, failing that, by its label, which is its name in the source. */
export const findColumn = (columns: readonly Pick<Column, 'name' | 'label'>[], nameOrLabel: string) =>
  (columns.find(({ name }) => name === nameOrLabel) ?? columns.find(({ label }) => label === nameOrLabel))?.name

const maxListedColumns = 20

export function describeMissingKey(columns: readonly Pick<Column, 'label'>[], key: string): string {
  const labels = columns.slice(0, maxListedColumns).map(({ label }) => `"${label}"`)
  const moreText = columns.length > maxListedColumns ? ` and ${columns.length - maxListedColumns} more` : ''
  return `The source has no column "${key}", which is in mergeKey; the old data stays. Correct the source or mergeKey. The columns of the source are ${labels.join(', ')}${moreText}.`
}

/**
 * Returns the parent records of a row stream, with table names of the warehouse, or undefined if its rows are no child
 * rows. Appended rows have no parent records, because they replace no rows. With `RowStream.replaceByColumn`, they
 * replace the rows with the same value in this column: the table is then its own parent table.
 */
export function parentRecordsOf(
  { parentRecords, replaceByColumn }: Pick<RowStream, 'parentRecords' | 'replaceByColumn'>,
  table: string,
  { mode, target }: WriteRequest,
): ParentRecords | undefined {
  if (mode !== 'APPEND') return parentRecords && { ...parentRecords, table: parentRecords.table || target.table }
  return replaceByColumn === undefined ? undefined : { table, keys: [replaceByColumn], column: replaceByColumn }
}
