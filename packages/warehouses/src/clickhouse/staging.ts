import type { DataType } from '@sluice/contracts'
import { literal, quoted } from './names.ts'
import type { TableMark } from './table-shape.ts'

export interface StagingColumn {
  name: string
  label: string
  type: string
  dataType: DataType
  primaryKey: boolean
}

/** Returns a planned column in the form that a staging table has. */
export const stagingColumn = ({ name, label, type, dataType, primaryKey }: StagingColumn): StagingColumn => ({
  name,
  label,
  type,
  dataType,
  primaryKey,
})

/** Returns a column that the table keeps, empty. */
export const emptyColumn = (column: StagingColumn): StagingColumn => ({ ...stagingColumn(column), primaryKey: false })

/** Returns the columns that are stored as text and have another data type. */
export function textsOf(columns: readonly StagingColumn[]): Record<string, DataType> {
  const kinds = columns.filter(({ type, dataType }) => type === 'String' && dataType !== 'TEXT')
  return Object.fromEntries(kinds.map(({ name, dataType }) => [name, dataType]))
}

/** The server writes rows to disk before it acknowledges them, in insertion order or in the order of the key. */
export function createTable(place: string, columns: readonly StagingColumn[], mark: TableMark): string {
  const list = columns.map(columnText)
  const keys = columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => quoted(name))
  return `create table ${place} (${list.join(', ')}) engine = MergeTree order by (${keys.join(', ') || 'tuple()'})
    settings fsync_after_insert = 1, fsync_part_directory = 1 comment ${literal(JSON.stringify(mark))}`
}

export function columnText({ name, label, type, primaryKey }: StagingColumn): string {
  const comment = label === name ? '' : ` comment ${literal(label.replaceAll('\0', ''))}`
  return `${quoted(name)} ${primaryKey ? type : `Nullable(${type})`}${comment}`
}
