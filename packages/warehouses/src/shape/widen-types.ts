import type { DataType } from '@sluice/contracts'
import type { StoredType } from '../load-target.ts'
import type { StoredAs } from './previous-source-columns.ts'

/** The names of the types that loads create in one warehouse. */
export interface WarehouseTypes {
  /** The decimal digits of each integer type, from the narrowest (16 bits) to the widest (64 bits). */
  integers: Readonly<Record<string, number>>
  /** The date type, the timestamp type without time zone, and the one with time zone. */
  times: readonly string[]
  singleFloat: string
  doubleFloat: string
  /**
   * Parses the precision and scale of a decimal type. Returns an empty array for other types and for a decimal without
   * declared size.
   */
  readDecimal(type: string): readonly [precision?: number, scale?: number]
  /** Returns the decimal type of this size, or a substitute if the warehouse does not support that many digits. */
  decimal(precision: number, scale: number): string
  /** A decimal type without limits, or text in warehouses that have no such type. */
  anyNumber: string
  /**
   * Returns the wider of two text types, or undefined if one is not a text of declared length. Absent if the warehouse
   * has only one text type.
   */
  widerText?(one: string, other: string): string | undefined
  text: string
}

/**
 * Returns the narrowest type that stores every value of both types without loss. Returns text for types that are not
 * both numbers or both times.
 */
export function widenTypes(types: WarehouseTypes, one: string, other: string): string {
  if (one === other) return one
  const integers = Object.keys(types.integers)
  const wider = findWider(integers, one, other) ?? findWider(types.times, one, other)
  if (wider !== undefined) return wider
  const isFloat = (type: string) => type === types.singleFloat || type === types.doubleFloat
  const isDecimal = (type: string) => type === types.anyNumber || types.readDecimal(type).length > 0
  const isNumber = (type: string) => isFloat(type) || integers.includes(type) || isDecimal(type)
  if (!isNumber(one) || !isNumber(other)) return types.widerText?.(one, other) ?? types.text
  if (isFloat(one) || isFloat(other)) {
    // A double would round decimals, and integers of more than 32 bits.
    const [int16, int32] = integers
    const fitsIntoDouble = (type: string) => isFloat(type) || type === int16 || type === int32
    return fitsIntoDouble(one) && fitsIntoDouble(other) ? types.doubleFloat : types.anyNumber
  }
  if (one === types.anyNumber || other === types.anyNumber) return types.anyNumber
  return widenDecimals(types, one, other)
}

/** Returns the wider of two types in a list from narrow to wide. Returns undefined if the list lacks one of them. */
function findWider(narrowToWide: readonly string[], one: string, other: string): string | undefined {
  const positions = [narrowToWide.indexOf(one), narrowToWide.indexOf(other)]
  return positions.includes(-1) ? undefined : narrowToWide[Math.max(...positions)]
}

/** Returns a decimal type for the values of two types, each a decimal of declared size or an integer. */
function widenDecimals(types: WarehouseTypes, one: string, other: string): string {
  const digitCounts = [one, other].map((type) => {
    const [precision = types.integers[type]!, scale = 0] = types.readDecimal(type)
    return { beforePoint: precision - scale, afterPoint: scale }
  })
  const beforePoint = Math.max(...digitCounts.map((count) => count.beforePoint))
  const afterPoint = Math.max(...digitCounts.map((count) => count.afterPoint))
  return types.decimal(beforePoint + afterPoint, afterPoint)
}

/** The precision and, if declared, the scale in a decimal type such as `numeric(12, 2)`. */
const decimalSize = /\((?<precision>\d+)(?:, ?(?<scale>\d+))?\)/

/**
 * Returns the name of a stored type as the API has it: `DECIMAL(12,2)`, `TEXT`. A type that no load creates, such as
 * `uuid` in PostgreSQL, keeps its name in the warehouse.
 */
export function typeName({ storedAs }: { storedAs(type: StoredType): StoredAs }, { type, dataType }: StoredAs): string {
  // A decimal without a declared size is stored in a default type, which can have digits too.
  const isDefaultType = storedAs({ dataType }).type === type
  if (isDefaultType) return dataType
  const size = dataType === 'DECIMAL' ? decimalSize.exec(type)?.groups : undefined
  if (!size) return type
  const { precision, scale = '0' } = size
  const isCreatedByLoads = storedAs({ dataType, precision: Number(precision), scale: Number(scale) }).type === type
  return isCreatedByLoads ? `DECIMAL(${precision},${scale})` : type
}

const maxTextLengths: Partial<Record<DataType, number>> = { VARCHAR_50: 50, VARCHAR_255: 255 }

/** Returns the longer of two text types. Returns TEXT for different types unless both are VARCHAR_n. */
export function widestText(one: DataType, other: DataType): DataType {
  if (one === other) return one
  const oneLength = maxTextLengths[one]
  const otherLength = maxTextLengths[other]
  if (oneLength === undefined || otherLength === undefined) return 'TEXT'
  return oneLength > otherLength ? one : other
}
