import type { DataType } from '@sluice/contracts'
import type { StoredAs } from '../shape/previous-source-columns.ts'
import type { TypeRules } from '../shape/plan-shape.ts'
import { type WarehouseTypes, widenTypes as widen } from '../shape/widen-types.ts'

/**
 * A type as `format_type` prints it, with length and precision, so that it can be compared with the catalogue's text.
 */
export type SqlType = string

interface TypeDescription {
  dataType: DataType
  length?: number
  precision?: number
  scale?: number
}

const typesByDataType: Record<DataType, SqlType> = {
  SMALLINT: 'smallint',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  DECIMAL: 'numeric',
  FLOAT: 'real',
  DOUBLE: 'double precision',
  BOOLEAN: 'boolean',
  CHARACTER_11: 'character(11)',
  VARCHAR_50: 'character varying(50)',
  VARCHAR_255: 'character varying(255)',
  TEXT: 'text',
  DATE: 'date',
  TIMESTAMP: 'timestamp without time zone',
  TIMESTAMPTZ: 'timestamp with time zone',
  // Geometry is stored as text, because not every PostgreSQL server has PostGIS.
  GEOMETRY: 'text',
  GEOMETRY_POINT: 'text',
  JSONB: 'jsonb',
}

/** Returns the PostgreSQL type for a column. A DECIMAL without precision is stored as `numeric`, which is unlimited. */
export function sqlType(column: { dataType: DataType; precision?: number; scale?: number }): SqlType {
  if (column.dataType !== 'DECIMAL' || column.precision === undefined) return typesByDataType[column.dataType]
  return formatNumericType(column.precision, column.scale ?? 0)
}

/**
 * Returns Sluice's data type for a PostgreSQL type, with its length, or its precision and scale. Types that loads never
 * create (arrays, uuid, …) become TEXT, because their values are read as text.
 */
export function describeType(type: SqlType): TypeDescription {
  const modifiers = parseTypeModifiers(type)
  if (type.startsWith('numeric')) {
    const [precision, scale] = modifiers
    return { dataType: 'DECIMAL', ...(precision !== undefined && { precision, scale }) }
  }
  const [length] = modifiers
  if (type.startsWith('character varying')) {
    return { dataType: varcharDataType(length), ...(length !== undefined && { length }) }
  }
  if (type.startsWith('character('))
    return { dataType: length === 11 ? 'CHARACTER_11' : varcharDataType(length), length }
  if (type === 'json') return { dataType: 'JSONB' }
  // Several data types are stored as text.
  if (type === 'text') return { dataType: 'TEXT' }
  const entry = Object.entries(typesByDataType).find(([, sqlType]) => sqlType === type)
  return { dataType: (entry?.[0] as DataType | undefined) ?? 'TEXT' }
}

export const storedAs = (type: SqlType): StoredAs => ({ type, dataType: describeType(type).dataType })

export const typeRules: TypeRules = {
  storedAs: (column) => storedAs(sqlType(column)),
  widest: (one, other) => storedAs(widenTypes(one.type, other.type)),
}

const postgresTypeFamilies: WarehouseTypes = {
  integers: { smallint: 5, integer: 10, bigint: 19 },
  times: ['date', 'timestamp without time zone', 'timestamp with time zone'],
  singleFloat: 'real',
  doubleFloat: 'double precision',
  readDecimal: (type) => (type.startsWith('numeric(') ? parseTypeModifiers(type) : []) as [number?, number?],
  decimal: formatNumericType,
  anyNumber: 'numeric',
  widerText: (one, other) =>
    one.startsWith('character varying(') && other.startsWith('character varying(')
      ? `character varying(${Math.max(parseTypeModifiers(one)[0]!, parseTypeModifiers(other)[0]!)})`
      : undefined,
  text: 'text',
}

/** Returns the narrowest type that stores every value of both types without loss. */
export const widenTypes = (one: SqlType, other: SqlType): SqlType => widen(postgresTypeFamilies, one, other)

/** Returns `numeric(precision,scale)`, or the unlimited `numeric` if PostgreSQL does not support these values. */
function formatNumericType(precision: number, scale: number): SqlType {
  const isSupported = precision >= 1 && precision <= 1000 && scale >= 0 && scale <= precision
  return isSupported ? `numeric(${precision},${scale})` : 'numeric'
}

/**
 * Returns the numbers in the parentheses of a type, such as [10, 2] for `numeric(10,2)`. Empty for a type without
 * numbers.
 */
function parseTypeModifiers(type: SqlType): number[] {
  return (/\(([\d,-]+)\)/.exec(type)?.[1] ?? '').split(',').filter(Boolean).map(Number)
}

/** Returns the narrowest data type for texts of this maximum length. */
function varcharDataType(length: number | undefined): DataType {
  if (length === undefined || length > 255) return 'TEXT'
  return length > 50 ? 'VARCHAR_255' : 'VARCHAR_50'
}
