import type { DataType } from '@sluice/contracts'
import type { TypeRules } from '../shape/plan-shape.ts'
import { type WarehouseTypes, widestText, widenTypes as widen } from '../shape/widen-types.ts'

/** A ClickHouse type as in `system.columns`, without its `Nullable(…)` wrapper. */
export type SqlType = string

export interface TypeDescription {
  dataType: DataType
  precision?: number
  scale?: number
}

/**
 * The type for a decimal of unknown size: 38 digits before and 38 after the decimal point. ClickHouse has no unbounded
 * decimal.
 */
export const anyDecimal: SqlType = 'Decimal(76, 38)'
const maxPrecision = 76

/**
 * Timestamps with and without time zone. ClickHouse has only the first kind, so Sluice stores the second with another
 * name for UTC. This keeps the two types distinguishable.
 */
const instantType: SqlType = "DateTime64(6, 'UTC')"
const localTimeType: SqlType = "DateTime64(6, 'Etc/UTC')"

const typesByDataType: Partial<Record<DataType, SqlType>> = {
  SMALLINT: 'Int16',
  INTEGER: 'Int32',
  BIGINT: 'Int64',
  FLOAT: 'Float32',
  DOUBLE: 'Float64',
  BOOLEAN: 'Bool',
  DATE: 'Date32',
  TIMESTAMP: localTimeType,
  TIMESTAMPTZ: instantType,
}

/**
 * Returns the ClickHouse type of a column. ClickHouse has one type for all texts, so the table's comment stores the
 * exact data type.
 */
export function sqlType({ dataType, precision, scale = 0 }: TypeDescription): SqlType {
  if (dataType === 'DECIMAL') return precision === undefined ? anyDecimal : decimalType(precision, scale)
  return typesByDataType[dataType] ?? 'String'
}

/**
 * Returns Sluice's name of a ClickHouse type. Types that loads never create (arrays, enums, …) become TEXT, because
 * their values are shown as text.
 */
export function describeType(type: SqlType): TypeDescription {
  const innerType = withoutWrappers(type)
  const [precision, scale = 0] = digitsOf(innerType)
  // The size of this type is not the size that the user chose.
  if (innerType === anyDecimal) return { dataType: 'DECIMAL' }
  if (precision !== undefined) return { dataType: 'DECIMAL', precision, scale }
  const dataTypes = Object.keys(typesByDataType) as DataType[]
  const loadedType = dataTypes.find((dataType) => typesByDataType[dataType] === innerType)
  // Matches types with another precision or time zone than those that loads create.
  const isTimestamp = innerType.startsWith('DateTime')
  return { dataType: loadedType ?? queryOnlyTypes[innerType] ?? (isTimestamp ? 'TIMESTAMPTZ' : 'TEXT') }
}

/** Types that loads never create, but that queries can return. */
const queryOnlyTypes: Record<SqlType, DataType> = {
  Int8: 'SMALLINT',
  UInt8: 'SMALLINT',
  UInt16: 'INTEGER',
  UInt32: 'BIGINT',
  UInt64: 'DECIMAL',
  Int128: 'DECIMAL',
  UInt128: 'DECIMAL',
  Int256: 'DECIMAL',
  UInt256: 'DECIMAL',
  Date: 'DATE',
  JSON: 'JSONB',
}

/** Removes the wrappers `Nullable(…)` and `LowCardinality(…)` from a type. */
export function withoutWrappers(type: SqlType): SqlType {
  const [, innerType] = /^(?:Nullable|LowCardinality)\((.*)\)$/.exec(type) ?? []
  return innerType === undefined ? type : withoutWrappers(innerType)
}

/** Returns TEXT for a geometry type, because its values are transferred as text, and any other type unchanged. */
const replaceGeometry = (dataType: DataType): DataType =>
  dataType === 'GEOMETRY' || dataType === 'GEOMETRY_POINT' ? 'TEXT' : dataType

/** ClickHouse's type rules, as input of the load planning that all warehouses share. */
export const typeRules: TypeRules = {
  storedAs: (column) => ({ type: sqlType(column), dataType: replaceGeometry(column.dataType) }),
  widest(one, other) {
    const type = widenTypes(one.type, other.type)
    if (type === 'String') return { type, dataType: widestText(one.dataType, other.dataType) }
    const columnOfType = [other, one].find((column) => column.type === type)
    return { type, dataType: (columnOfType ?? describeType(type)).dataType }
  },
}

const clickHouseTypeFamilies: WarehouseTypes = {
  integers: { Int16: 5, Int32: 10, Int64: 19 },
  times: ['Date32', localTimeType, instantType],
  singleFloat: 'Float32',
  doubleFloat: 'Float64',
  readDecimal: digitsOf,
  decimal: (precision, scale) => (precision > maxPrecision ? 'String' : decimalType(precision, scale)),
  anyNumber: 'String',
  text: 'String',
}

/** Returns the narrowest type that stores every value of both types without loss. */
const widenTypes = (one: SqlType, other: SqlType): SqlType => widen(clickHouseTypeFamilies, one, other)

/** Returns the decimal type of this size, or `anyDecimal` if ClickHouse has no such type. */
function decimalType(precision: number, scale: number): SqlType {
  const isSupported = precision >= 1 && precision <= maxPrecision && scale >= 0 && scale <= precision
  return isSupported ? `Decimal(${precision}, ${scale})` : anyDecimal
}

/** Parses precision and scale of a decimal type. Returns an empty array for any other type. */
export function digitsOf(type: SqlType): [precision?: number, scale?: number] {
  const [, precision, scale] = /^Decimal\((\d+),\s*(\d+)\)$/.exec(type) ?? []
  return precision === undefined ? [] : [Number(precision), Number(scale)]
}
