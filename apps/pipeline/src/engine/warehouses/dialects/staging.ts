import type { DataType } from '@sluice/contracts'
import type { TargetColumn } from '../warehouse.ts'
import { widestText } from '../widest-text.ts'
import type { MadeColumn, Types } from './dialect.ts'
import type { Mark } from './ledger.ts'
import type { Shape } from './shapes.ts'

export interface StagingColumn extends MadeColumn {
  label: string
  dataType: DataType
  primaryKey: boolean
}

/**
 * What a staging table looks like so that it can take its table's place: the columns that are there, at the wider type of both,
 * with those that vanished from the source, which stay null; then the new ones.
 */
export function stagingColumns(types: Types, fed: readonly TargetColumn[], table: Shape | undefined): StagingColumn[] {
  const own = (column: TargetColumn): StagingColumn => ({
    name: column.name,
    label: column.label,
    type: types.sqlType(column),
    nullable: column.primaryKey !== true,
    dataType: plainText(column.dataType),
    primaryKey: column.primaryKey === true,
  })
  const coming = new Map(fed.map((column) => [column.name, column]))
  const kept = (table?.columns ?? []).map((before): StagingColumn => {
    const column = coming.get(before.name)
    if (!column) return { ...before, nullable: true, primaryKey: false }
    const after = own(column)
    const type = types.widest(before.type, after.type)
    return { ...after, type, dataType: storedAs(types, type, before, after) }
  })
  const there = new Set(kept.map(({ name }) => name))
  return [...kept, ...fed.filter(({ name }) => !there.has(name)).map(own)]
}

/** Geometry travels as its text. */
const plainText = (dataType: DataType): DataType =>
  dataType === 'GEOMETRY' || dataType === 'GEOMETRY_POINT' ? 'TEXT' : dataType

type Stored = Pick<StagingColumn, 'type' | 'dataType'>

function storedAs(types: Types, type: string, before: Stored, after: Stored): DataType {
  if (types.isText(type)) {
    const texts = [before, after].every((one) => types.isText(one.type))
    return texts ? widestText(before.dataType, after.dataType) : 'TEXT'
  }
  return type === after.type ? after.dataType : type === before.type ? before.dataType : types.describe(type).dataType
}

/** Of columns whose type says less than they hold. */
export function dataTypesOf(types: Types, columns: readonly StagingColumn[]): NonNullable<Mark['dataTypes']> {
  const told = columns.filter(({ type, dataType }) => types.describe(type).dataType !== dataType)
  return Object.fromEntries(told.map(({ name, dataType }) => [name, dataType]))
}

/** What a waiting table is marked with, and keeps once it is published. */
export const marked = (
  types: Types,
  columns: readonly StagingColumn[],
): Pick<Mark, 'labels' | 'dataTypes' | 'keys'> => ({
  labels: Object.fromEntries(
    columns.filter(({ name, label }) => name !== label).map(({ name, label }) => [name, label]),
  ),
  dataTypes: dataTypesOf(types, columns),
  keys: columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name),
})
