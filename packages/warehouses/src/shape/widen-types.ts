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
  const pair = [one, other]
  const integers = Object.keys(types.integers)
  for (const narrowToWide of [integers, types.times]) {
    if (pair.every((type) => narrowToWide.includes(type)))
      return narrowToWide[Math.max(...pair.map((type) => narrowToWide.indexOf(type)))]!
  }
  const isFloat = (type: string) => type === types.singleFloat || type === types.doubleFloat
  const isDecimal = (type: string) => type === types.anyNumber || types.readDecimal(type).length > 0
  const areNumbers = pair.every((type) => isFloat(type) || integers.includes(type) || isDecimal(type))
  if (!areNumbers) return types.widerText?.(one, other) ?? types.text
  if (pair.some(isFloat)) {
    // A double would round integers of more than 32 bits, and decimals.
    const integersInDouble = integers.slice(0, 2)
    const fitsIntoDouble = pair.every((type) => isFloat(type) || integersInDouble.includes(type))
    return fitsIntoDouble ? types.doubleFloat : types.anyNumber
  }
  if (pair.includes(types.anyNumber)) return types.anyNumber
  const digitCounts = pair.map((type) => {
    const [precision = types.integers[type]!, scale = 0] = types.readDecimal(type)
    return { beforePoint: precision - scale, afterPoint: scale }
  })
  const beforePoint = Math.max(...digitCounts.map((count) => count.beforePoint))
  const afterPoint = Math.max(...digitCounts.map((count) => count.afterPoint))
  return types.decimal(beforePoint + afterPoint, afterPoint)
}

/**
 * Returns the name of a stored type as the API has it: `DECIMAL(12,2)`, `TEXT`. A type that no load creates, such as
 * `uuid` in PostgreSQL, keeps its name in the warehouse.
 */
export function typeName({ storedAs }: { storedAs(type: StoredType): StoredAs }, { type, dataType }: StoredAs): string {
  const digits = dataType === 'DECIMAL' ? /\((\d+)(?:, ?(\d+))?\)/.exec(type) : null
  const [precision, scale] = [digits?.[1], digits?.[2] ?? '0']
  const size = precision === undefined ? {} : { precision: Number(precision), scale: Number(scale) }
  const isCreatedByLoads = storedAs({ dataType, ...size }).type === type
  if (!isCreatedByLoads) return type
  // The warehouse's type for a decimal of unknown size has digits too, but the API's name of it has none.
  const isDefaultType = storedAs({ dataType }).type === type
  return precision === undefined || isDefaultType ? dataType : `DECIMAL(${precision},${scale})`
}
