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

/** A planned column as a staging table has it. */
export const stagingColumn = ({ name, label, type, dataType, primaryKey }: StagingColumn): StagingColumn => ({
  name,
  label,
  type,
  dataType,
  primaryKey,
})

/** A column that the table keeps, empty. */
export const emptyColumn = (column: StagingColumn): StagingColumn => ({ ...stagingColumn(column), primaryKey: false })

/** Which of the columns are texts of a kind. */
export function textsOf(columns: readonly StagingColumn[]): Record<string, DataType> {
  const kinds = columns.filter(({ type, dataType }) => type === 'String' && dataType !== 'TEXT')
  return Object.fromEntries(kinds.map(({ name, dataType }) => [name, dataType]))
}

/** Rows on disk before anybody is told; in the order in which they came, or in that of the key. */
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
