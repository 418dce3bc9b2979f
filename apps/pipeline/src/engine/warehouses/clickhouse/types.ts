import type { DataType } from '@sluice/contracts'
import type { TypeRules } from '../shape/plan-shape.ts'
import { widestText } from '../shape/plan-shape.ts'

/** A type as `system.columns` prints it, without `Nullable(…)`. */
export type SqlType = string

export interface TypeDescription {
  dataType: DataType
  precision?: number
  scale?: number
}

/**
 * A decimal that says nothing of its size: half of what a number can have before the point, half behind it. There is no
 * number without bounds.
 */
export const anyDecimal: SqlType = 'Decimal(76, 38)'
const mostDigits = 76

/** Times with a zone are moments; times without one are kept as if they were in a zone of another name for the same. */
const moment: SqlType = "DateTime64(6, 'UTC')"
const wallClock: SqlType = "DateTime64(6, 'Etc/UTC')"

const byDataType: Partial<Record<DataType, SqlType>> = {
  SMALLINT: 'Int16',
  INTEGER: 'Int32',
  BIGINT: 'Int64',
  FLOAT: 'Float32',
  DOUBLE: 'Float64',
  BOOLEAN: 'Bool',
  DATE: 'Date32',
  TIMESTAMP: wallClock,
  TIMESTAMPTZ: moment,
}

/** Texts are all one type here; what kind of text a column is, its table's comment says. */
export function sqlType({ dataType, precision, scale = 0 }: TypeDescription): SqlType {
  if (dataType === 'DECIMAL') return precision === undefined ? anyDecimal : decimal(precision, scale)
  return byDataType[dataType] ?? 'String'
}

/** What a type is called on the wire. One that we never make (arrays, enums …) is TEXT, as it is shown as text. */
export function describeType(type: SqlType): TypeDescription {
  const bare = withoutWrappers(type)
  const [precision, scale = 0] = digitsOf(bare)
  if (bare === anyDecimal) return { dataType: 'DECIMAL' }
  if (precision !== undefined) return { dataType: 'DECIMAL', precision, scale }
  const known = (Object.entries(byDataType) as [DataType, SqlType][]).find(([, sql]) => sql === bare)
  return { dataType: known?.[0] ?? others[bare] ?? (bare.startsWith('DateTime') ? 'TIMESTAMPTZ' : 'TEXT') }
}

/** What queries come upon besides what we make. */
const others: Record<SqlType, DataType> = {
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

export function withoutWrappers(type: SqlType): SqlType {
  const [, inner] = /^(?:Nullable|LowCardinality)\((.*)\)$/.exec(type) ?? []
  return inner === undefined ? type : withoutWrappers(inner)
}

/** Geometry travels as its text. */
const plainText = (dataType: DataType): DataType =>
  dataType === 'GEOMETRY' || dataType === 'GEOMETRY_POINT' ? 'TEXT' : dataType

/** The type rules of ClickHouse for the plan that all warehouses share. */
export const typeRules: TypeRules = {
  storedAs: (column) => ({ type: sqlType(column), dataType: plainText(column.dataType) }),
  widest(one, other) {
    const type = widest(one.type, other.type)
    if (type === 'String') return { type, dataType: widestText(one.dataType, other.dataType) }
    return {
      type,
      dataType: type === other.type ? other.dataType : type === one.type ? one.dataType : describeType(type).dataType,
    }
  },
}

const integers = ['Int16', 'Int32', 'Int64']
const integerDigits: Record<SqlType, number> = { Int16: 5, Int32: 10, Int64: 19 }
const times = ['Date32', wallClock, moment]

/**
 * The narrowest type that holds every value of both without loss, `String` at the end. A float with a whole number of up to 32
 * bits is a double; with what a double rounds it is text, since a decimal has bounds here.
 */
export function widest(one: SqlType, other: SqlType): SqlType {
  if (one === other) return one
  for (const family of [integers, times]) {
    if (family.includes(one) && family.includes(other))
      return family[Math.max(family.indexOf(one), family.indexOf(other))]!
  }
  if (isFloat(one) || isFloat(other)) {
    const exact = [one, other].every((type) => isFloat(type) || type === 'Int16' || type === 'Int32')
    return exact ? 'Float64' : 'String'
  }
  const shapes = [one, other].map((type) => {
    const [precision, scale = 0] = digitsOf(type)
    if (integerDigits[type] !== undefined) return { before: integerDigits[type], after: 0 }
    return precision === undefined ? undefined : { before: precision - scale, after: scale }
  })
  if (shapes.some((shape) => shape === undefined)) return 'String'
  const before = Math.max(...shapes.map((shape) => shape!.before))
  const after = Math.max(...shapes.map((shape) => shape!.after))
  return before + after > mostDigits ? 'String' : decimal(before + after, after)
}

function decimal(precision: number, scale: number): SqlType {
  const declared = precision >= 1 && precision <= mostDigits && scale >= 0 && scale <= precision
  return declared ? `Decimal(${precision}, ${scale})` : anyDecimal
}

/** Digits in all and behind the point of a decimal. */
export function digitsOf(type: SqlType): [precision?: number, scale?: number] {
  const [, precision, scale] = /^Decimal\((\d+),\s*(\d+)\)$/.exec(type) ?? []
  return precision === undefined ? [] : [Number(precision), Number(scale)]
}

const isFloat = (type: SqlType): boolean => type === 'Float32' || type === 'Float64'
