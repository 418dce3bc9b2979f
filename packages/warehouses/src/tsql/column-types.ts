import type { DataType } from '@sluice/contracts'
import { type WarehouseTypes, widenTypes } from '../shape/widen-types.ts'
import type { SqlType, DialectTypes } from '../sql-warehouse/sql-dialect.ts'
import type { StoredType } from '../warehouse.ts'

/** The maximum precision of SQL Server's decimal type. */
const maxPrecision = 38

/** The type for a decimal of unknown size, because SQL Server has no unbounded decimal. */
export const anyDecimal: SqlType = 'decimal(38,20)'

export const longText: SqlType = 'nvarchar(max)'

/** Text types. SQL Server counts their length in UTF-16 code units, and a character may take two. */
const textTypes: Partial<Record<DataType, SqlType>> = {
  CHARACTER_11: 'nvarchar(22)',
  VARCHAR_50: 'nvarchar(100)',
  VARCHAR_255: 'nvarchar(510)',
}

const sqlTypesByDataType: Partial<Record<DataType, SqlType>> = {
  SMALLINT: 'smallint',
  INTEGER: 'int',
  BIGINT: 'bigint',
  FLOAT: 'real',
  DOUBLE: 'float',
  BOOLEAN: 'bit',
  DATE: 'date',
  TIMESTAMP: 'datetime2(6)',
  TIMESTAMPTZ: 'datetimeoffset(6)',
  ...textTypes,
}

/** Data types of types that loads never create, but that queries can return. */
const queryOnlyTypes: Record<SqlType, DataType> = {
  tinyint: 'SMALLINT',
  datetime: 'TIMESTAMP',
  smalldatetime: 'TIMESTAMP',
  json: 'JSONB',
}

export const tsqlTypes: DialectTypes = {
  sqlType,
  describe: describeType,
  widest: (one, other) => widenTypes(tsqlTypeFamilies, one, other),
  isText,
  longText,
}

/** Returns the SQL Server type for a column. Types that SQL Server lacks, such as JSON, are stored as text. */
export function sqlType({ dataType, precision, scale = 0 }: StoredType): SqlType {
  if (dataType !== 'DECIMAL') return sqlTypesByDataType[dataType] ?? longText
  return precision === undefined ? anyDecimal : decimalType(precision, scale)
}

/** Returns Sluice's data type for a SQL Server type. A decimal of unknown size has no precision and scale. */
export function describeType(type: SqlType): StoredType {
  if (type === anyDecimal) return { dataType: 'DECIMAL' }
  const [precision, scale] = digitsOf(type)
  if (precision !== undefined) return { dataType: 'DECIMAL', precision, scale: scale! }
  const entry = (Object.entries(sqlTypesByDataType) as [DataType, SqlType][]).find(([, sqlType]) => sqlType === type)
  if (entry) return { dataType: entry[0] }
  const nameWithoutModifiers = type.replace(/\(.*/, '')
  switch (nameWithoutModifiers) {
    case 'money':
      return { dataType: 'DECIMAL', precision: 19, scale: 4 }
    case 'smallmoney':
      return { dataType: 'DECIMAL', precision: 10, scale: 4 }
    case 'datetime2':
      return { dataType: 'TIMESTAMP' }
    case 'datetimeoffset':
      return { dataType: 'TIMESTAMPTZ' }
    default:
      return { dataType: queryOnlyTypes[nameWithoutModifiers] ?? 'TEXT' }
  }
}

export function isText(type: SqlType): boolean {
  return /^n?(var)?char|^n?text/.test(type)
}

const tsqlTypeFamilies: WarehouseTypes = {
  integers: { smallint: 5, int: 10, bigint: 19 },
  times: ['date', 'datetime2(6)', 'datetimeoffset(6)'],
  singleFloat: 'real',
  doubleFloat: 'float',
  readDecimal: digitsOf,
  decimal: decimalType,
  anyNumber: longText,
  widerText(one, other) {
    if (!isText(one) || !isText(other)) return undefined
    return lengthOf(one) > lengthOf(other) ? one : other
  },
  text: longText,
}

/** Returns the length in a text type, in the server's units. Infinite for `max` and for a type without a length. */
function lengthOf(type: SqlType): number {
  const [, length] = /\((\d+|max)\)$/.exec(type) ?? []
  return length === undefined || length === 'max' ? Number.POSITIVE_INFINITY : Number(length)
}

/**
 * Returns the type for a decimal of this size. A decimal with more digits than the server supports, or with more
 * decimals than digits, is stored as text.
 */
function decimalType(precision: number, scale: number): SqlType {
  if (precision > maxPrecision || scale > precision) return longText
  return precision >= 1 && scale >= 0 ? `decimal(${precision},${scale})` : anyDecimal
}

/** Returns the precision and scale of a decimal type, such as [10, 2] for `decimal(10,2)`. Empty for any other type. */
export function digitsOf(type: SqlType): [precision?: number, scale?: number] {
  const [, precision, scale = '0'] = /^(?:decimal|numeric)\((\d+)(?:,\s*(\d+))?\)$/.exec(type) ?? []
  return precision === undefined ? [] : [Number(precision), Number(scale)]
}

/** A column's type in the server's catalogue. `max_length` is in bytes, -1 for max. */
export interface CatalogueType {
  type: string
  max_length: number
  precision: number
  scale: number
}

/** Returns the type as SQL text, with its length or its digits. */
export function typeText({ type, max_length: bytes, precision, scale }: CatalogueType): SqlType {
  switch (type) {
    case 'decimal':
    case 'numeric':
      return `decimal(${precision},${scale})`
    case 'datetime2':
    case 'datetimeoffset':
    case 'time':
      return `${type}(${scale})`
    case 'nvarchar':
    case 'nchar':
      return `${type}(${bytes === -1 ? 'max' : bytes / 2})`
    case 'varchar':
    case 'char':
    case 'varbinary':
    case 'binary':
      return `${type}(${bytes === -1 ? 'max' : bytes})`
    default:
      return type
  }
}
