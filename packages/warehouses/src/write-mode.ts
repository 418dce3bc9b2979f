import type { Column, RowStream } from '@sluice/row-stream'
import { LoadProblem, type PartOf, type PublishOptions } from './warehouse.ts'

interface WriteRequest {
  mode?: PublishOptions['mode']
  mergeKey?: readonly string[] | undefined
  /** `table` is the table of the pipeline; a source with several tables also feeds others. */
  target: { table: string }
}

/**
 * Returns the columns of a feed with the key by which its rows are written: none for APPEND, and `mergeKey` for the target table, if it is
 * set. Throws `LoadProblem` KEY_COLUMN_MISSING.
 */
export function withKey(columns: readonly Column[], table: string, { mode, mergeKey, target }: WriteRequest): Column[] {
  const isOwnTable = table === target.table
  if (mode !== 'APPEND' && !(mergeKey && isOwnTable)) return [...columns]
  const keys = mode === 'APPEND' ? [] : findKeyColumns(columns, mergeKey!)
  return columns.map((column) => ({ ...column, primaryKey: keys.includes(column.name) }))
}

/** Returns the names of the key columns in the table. Throws `LoadProblem` KEY_COLUMN_MISSING. */
function findKeyColumns(columns: readonly Column[], mergeKey: readonly string[]): string[] {
  return mergeKey.map((key) => {
    const name = findColumn(columns, key)
    if (name === undefined) throw new LoadProblem('KEY_COLUMN_MISSING', describeMissingKey(columns, key))
    return name
  })
}

/** Finds a column by its name in the table, or else by its label, which is its name in the source. */
export const findColumn = (columns: readonly Pick<Column, 'name' | 'label'>[], nameOrLabel: string) =>
  (columns.find(({ name }) => name === nameOrLabel) ?? columns.find(({ label }) => label === nameOrLabel))?.name

const mostListedColumns = 20

export function describeMissingKey(columns: readonly Pick<Column, 'label'>[], key: string): string {
  const labels = columns.slice(0, mostListedColumns).map(({ label }) => `"${label}"`)
  const moreText = columns.length > mostListedColumns ? ` and ${columns.length - mostListedColumns} more` : ''
  return `The source has no column "${key}", which is in mergeKey; the old data stays. Correct the source or mergeKey. The columns of the source are ${labels.join(', ')}${moreText}.`
}

/**
 * Returns what the rows of a feed are parts of, with the names of tables in the warehouse. Appended rows replace no others, except those of
 * a part of the source that was loaded before (`RowStream.replaces`).
 */
export function partOfFeed(
  { partOf, replaces }: Pick<RowStream, 'partOf' | 'replaces'>,
  table: string,
  { mode, target }: WriteRequest,
): PartOf | undefined {
  if (mode !== 'APPEND') return partOf && { ...partOf, table: partOf.table || target.table }
  return replaces === undefined ? undefined : { table, keys: [replaces], column: replaces }
}
