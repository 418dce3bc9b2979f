import type { Column, RowStream } from '@sluice/row-stream'
import { LoadProblem, type PartOf, type PublishOptions } from './warehouse.ts'

interface WriteRequest {
  mode?: PublishOptions['mode']
  mergeKey?: readonly string[] | undefined
  /** `table` is the pipeline's target table. A source with several tables also loads other tables. */
  target: { table: string }
}

/**
 * Returns the columns of a row stream with the key by which its rows are written: none for APPEND, and `mergeKey` for the
 * target table, if it is set. Throws `LoadProblem` KEY_COLUMN_MISSING.
 */
export function withKey(columns: readonly Column[], table: string, { mode, mergeKey, target }: WriteRequest): Column[] {
  const isOwnTable = table === target.table
  if (mode !== 'APPEND' && !(mergeKey && isOwnTable)) return [...columns]
  const keys = mode === 'APPEND' ? [] : findKeyColumns(columns, mergeKey!)
  return columns.map((column) => ({ ...column, primaryKey: keys.includes(column.name) }))
}

/** Returns the table's names of the key columns. Throws `LoadProblem` KEY_COLUMN_MISSING. */
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
 * Returns the records to which the rows of a row stream belong, with table names of the warehouse. Appended rows replace no
 * others, except rows of the same part of the source, such as a file that was loaded before (`RowStream.replaces`).
 */
export function partOfRowStream(
  { partOf, replaces }: Pick<RowStream, 'partOf' | 'replaces'>,
  table: string,
  { mode, target }: WriteRequest,
): PartOf | undefined {
  if (mode !== 'APPEND') return partOf && { ...partOf, table: partOf.table || target.table }
  return replaces === undefined ? undefined : { table, keys: [replaces], column: replaces }
}
