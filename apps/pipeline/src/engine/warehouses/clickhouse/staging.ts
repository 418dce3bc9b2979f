import type { DataType } from '@sluice/contracts'
import type { TargetColumn } from '../warehouse.ts'
import { widestText } from '../widest-text.ts'
import { literal, quoted } from './names.ts'
import type { Mark, Shape } from './shape.ts'
import { sqlType, widest } from './types.ts'

export interface StagingColumn {
  name: string
  label: string
  type: string
  dataType: DataType
  primaryKey: boolean
}

/**
 * What a staging table looks like so that it can take its table's place: the columns that are there, at the wider type of both,
 * with those that vanished from the source, which stay null; then the new ones.
 */
export function stagingColumns(fed: readonly TargetColumn[], table: Shape | undefined): StagingColumn[] {
  const coming = new Map(fed.map((column) => [column.name, column]))
  const kept = (table?.columns ?? []).map((before): StagingColumn => {
    const column = coming.get(before.name)
    if (!column) return { ...before, primaryKey: false }
    const type = widest(before.type, sqlType(column))
    return { ...own(column), type, dataType: storedAs(type, before.dataType, column) }
  })
  const there = new Set(kept.map(({ name }) => name))
  return [...kept, ...fed.filter(({ name }) => !there.has(name)).map(own)]
}

const own = (column: TargetColumn): StagingColumn => ({
  name: column.name,
  label: column.label,
  type: sqlType(column),
  dataType: plainText(column.dataType),
  primaryKey: column.primaryKey === true,
})

/** Geometry travels as its text. */
const plainText = (dataType: DataType): DataType =>
  dataType === 'GEOMETRY' || dataType === 'GEOMETRY_POINT' ? 'TEXT' : dataType

function storedAs(type: string, before: DataType, column: TargetColumn): DataType {
  const coming = plainText(column.dataType)
  if (type === 'String') return widestText(before, coming)
  return type === sqlType(column) ? coming : before
}

/** Which of the columns are texts of a kind. */
export function textsOf(columns: readonly StagingColumn[]): Record<string, DataType> {
  const kinds = columns.filter(({ type, dataType }) => type === 'String' && dataType !== 'TEXT')
  return Object.fromEntries(kinds.map(({ name, dataType }) => [name, dataType]))
}

/** Rows on disk before anybody is told; in the order in which they came, or in that of the key. */
export function createTable(place: string, columns: readonly StagingColumn[], mark: Mark): string {
  const list = columns.map(({ name, label, type, primaryKey }) => {
    const comment = label === name ? '' : ` comment ${literal(label.replaceAll('\0', ''))}`
    return `${quoted(name)} ${primaryKey ? type : `Nullable(${type})`}${comment}`
  })
  const keys = columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => quoted(name))
  return `create table ${place} (${list.join(', ')}) engine = MergeTree order by (${keys.join(', ') || 'tuple()'})
    settings fsync_after_insert = 1, fsync_part_directory = 1 comment ${literal(JSON.stringify(mark))}`
}
