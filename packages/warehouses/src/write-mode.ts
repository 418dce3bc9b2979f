import type { Column, RowStream } from '@sluice/row-stream'
import { LoadProblem, type ParentRecords, type PublishOptions } from './warehouse.ts'

interface WriteRequest {
  mode?: PublishOptions['mode']
  mergeKey?: readonly string[] | undefined
  /** `table` is the pipeline's target table. A source with several tables also loads other tables. */
  target: { table: string }
}

/**
 * Returns the columns of the row stream for `table`, with the key by which its rows are written:
 *
 * - APPEND: no key.
 * - The pipeline's target table, if `mergeKey` is set: the columns of `mergeKey`. Throws `LoadProblem`
 *   KEY_COLUMN_MISSING if one of them is missing.
 * - Otherwise: the source's key.
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
 * Returns the parent records of the row stream for `table`:
 *
 * - REPLACE or MERGE: those of the stream, if its rows are child rows. An empty name of the parent table stands for the
 *   pipeline's target table.
 * - APPEND with `replaceByColumn`: the rows replace the rows with the same value in this column, so the table is its
 *   own parent table.
 * - APPEND otherwise: undefined, because the rows replace no rows.
 */
export function parentRecordsOf(
  { parentRecords, replaceByColumn }: Pick<RowStream, 'parentRecords' | 'replaceByColumn'>,
  table: string,
  { mode, target }: WriteRequest,
): ParentRecords | undefined {
  if (mode === 'APPEND')
    return replaceByColumn === undefined ? undefined : { table, keys: [replaceByColumn], column: replaceByColumn }
  return parentRecords && { ...parentRecords, table: parentRecords.table || target.table }
}
