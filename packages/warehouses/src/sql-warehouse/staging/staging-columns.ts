import type { DataType } from '@sluice/contracts'
import type { PlannedColumn, TypeRules } from '../../shape/plan-shape.ts'
import { widestText } from '../../shape/widen-types.ts'
import type { NewColumn, DialectTypes } from '../sql-dialect.ts'
import type { RelationMetadata } from '../publication-ledger.ts'
import type { ShapeColumn } from '../table-shape.ts'

export interface StagingColumn extends NewColumn {
  label: string
  dataType: DataType
  primaryKey: boolean
}

/** Returns a dialect's type rules as input of `planShape`, which all warehouses share. */
export const typeRules = (types: DialectTypes): TypeRules => ({
  storedAs: (column) => ({ type: types.sqlType(column), dataType: replaceGeometry(column.dataType) }),
  widest(one, other) {
    const type = types.widest(one.type, other.type)
    return { type, dataType: widestDataType(types, type, one, other) }
  },
})

/** Reduces a planned column to the fields of a staging table's column. */
export const stagingColumn = ({ name, label, type, dataType, primaryKey }: PlannedColumn): StagingColumn => ({
  name,
  label,
  type,
  dataType,
  primaryKey,
  nullable: !primaryKey,
})

/** Converts a column of the published table to a staging column without values, for a load that lacks the column. */
export const emptyColumn = ({ name, label, type, dataType }: ShapeColumn): StagingColumn => ({
  name,
  label,
  type,
  dataType,
  primaryKey: false,
  nullable: true,
})

/** Returns TEXT for a geometry type, because its values are transferred as text, and any other type unchanged. */
const replaceGeometry = (dataType: DataType): DataType =>
  dataType === 'GEOMETRY' || dataType === 'GEOMETRY_POINT' ? 'TEXT' : dataType

type StoredColumn = Pick<StagingColumn, 'type' | 'dataType'>

/** Returns the data type of a column with the values of two columns. `type` is its stored type. */
function widestDataType(types: DialectTypes, type: string, one: StoredColumn, other: StoredColumn): DataType {
  if (types.isText(type)) {
    const areTexts = types.isText(one.type) && types.isText(other.type)
    return areTexts ? widestText(one.dataType, other.dataType) : 'TEXT'
  }
  const columnOfType = [other, one].find((column) => column.type === type)
  return (columnOfType ?? types.describe(type)).dataType
}

/** Returns the data types of those columns for which the server's type does not determine it. */
export function dataTypesOf(
  types: DialectTypes,
  columns: readonly StagingColumn[],
): NonNullable<RelationMetadata['dataTypes']> {
  const ambiguousColumns = columns.filter(({ type, dataType }) => types.describe(type).dataType !== dataType)
  return Object.fromEntries(ambiguousColumns.map(({ name, dataType }) => [name, dataType]))
}

/** Returns the metadata of a staging table. It stays with the table after its publication. */
export const tableMetadata = (
  types: DialectTypes,
  columns: readonly StagingColumn[],
): Pick<RelationMetadata, 'labels' | 'dataTypes' | 'keys'> => ({
  labels: Object.fromEntries(
    columns.filter(({ name, label }) => name !== label).map(({ name, label }) => [name, label]),
  ),
  dataTypes: dataTypesOf(types, columns),
  keys: columns.filter(({ primaryKey }) => primaryKey).map(({ name }) => name),
})
