import { parseJsonCell } from '../../rows/json-cell.ts'
import type { StoredType, RowCell } from '../../warehouse.ts'
import { type SqlType } from '../../sql-warehouse/sql-dialect.ts'
import { describeType, typeText } from '../column-types.ts'

/** The fields of the driver's column descriptions that are used here. */
export interface ColumnDescription {
  colName: string
  type: { name: string }
  dataLength?: number | undefined
  precision?: number | undefined
  scale?: number | undefined
  udtInfo?: unknown
}

/** Type names by the driver's type name and length in bytes, for types with several widths. */
const typeNamesByLength: Record<string, Record<number, string>> = {
  IntN: { 1: 'tinyint', 2: 'smallint', 4: 'int', 8: 'bigint' },
  FloatN: { 4: 'real', 8: 'float' },
  MoneyN: { 4: 'smallmoney', 8: 'money' },
  DateTimeN: { 4: 'smalldatetime', 8: 'datetime' },
}

/** Type names by the driver's type name. All other types have the driver's name in lower case. */
const typeNames: Record<string, string> = {
  BitN: 'bit',
  DecimalN: 'decimal',
  NumericN: 'decimal',
  UniqueIdentifier: 'uniqueidentifier',
  Variant: 'sql_variant',
}

/** The length in bytes from which the driver reports that a type has an unlimited length. */
const unlimitedBytes = 65_535

/** Returns the type of a result column in the form of a table column's type, such as `nvarchar(100)`. */
export function resultType({ type, dataLength, precision = 0, scale = 0 }: ColumnDescription): SqlType {
  const nameByLength = typeNamesByLength[type.name]?.[dataLength ?? 0]
  const name = nameByLength ?? typeNames[type.name] ?? type.name.toLowerCase()
  const isUnlimited = dataLength === undefined || dataLength >= unlimitedBytes
  return typeText({ type: name, max_length: isUnlimited ? -1 : dataLength, precision, scale })
}

/**
 * The precision up to which a double represents every decimal exactly, so that the driver's number can be formatted
 * without loss.
 */
export const exactDigits = 15

/** True if the driver's JavaScript value may have lost digits. */
export function losesDigits(type: SqlType): boolean {
  const { dataType, precision } = describeType(type)
  return dataType === 'DECIMAL' && (precision === undefined || precision > exactDigits)
}

/**
 * Returns a function that converts the driver's values of a column. Values that JavaScript cannot represent exactly
 * become text.
 */
export function cellReader(type: SqlType, { dataType, scale = 0 }: StoredType): (value: unknown) => RowCell {
  const format = (value: unknown): RowCell => {
    if (dataType === 'DECIMAL')
      return typeof value === 'number' ? value.toFixed(scale) : removeTrailingZeros(String(value), type)
    if (dataType === 'JSONB') return parseJsonCell(String(value))
    if (dataType === 'FLOAT') return typeof value === 'number' ? toShortestFloat(value) : String(value)
    if (value instanceof Date) return formatDateTime(value as PreciseDate, type)
    if (Buffer.isBuffer(value)) return `0x${value.toString('hex').toUpperCase()}`
    if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return value
    return JSON.stringify(value)
  }
  return (value) => (value === null || value === undefined ? null : format(value))
}

/** The driver stores fractions below a millisecond in an extra property, in seconds. */
type PreciseDate = Date & { nanosecondsDelta?: number }

/** Formats a date, a time or a timestamp (in UTC) with its significant decimals, such as `2026-01-31 10:00:00.25`. */
function formatDateTime(value: PreciseDate, type: SqlType): string {
  const [day, timeOfDay = ''] = value.toISOString().replace('Z', '').split('T')
  if (type === 'date') return day!
  const [seconds, milliseconds = ''] = timeOfDay.split('.')
  // Seven decimals: three for the milliseconds, and four for the rest in units of 100 ns.
  const secondsBelowMillisecond = value.nanosecondsDelta ?? 0
  const hundredNanoseconds = Math.round(secondsBelowMillisecond * 1e7)
  const fraction = `${milliseconds}${String(hundredNanoseconds).padStart(4, '0')}`.replace(/0+$/, '')
  const time = fraction === '' ? seconds! : `${seconds}.${fraction}`
  if (type.startsWith('time')) return time
  return `${day} ${time}${type.startsWith('datetimeoffset') ? '+00' : ''}`
}

/** Rounds a 32-bit float to the fewest digits that identify it. */
function toShortestFloat(value: number): number {
  for (let digits = 6; digits < 9; digits += 1) {
    const rounded = Number(value.toPrecision(digits))
    if (Math.fround(rounded) === value) return rounded
  }
  return value
}

/** Removes the insignificant trailing zeros of a decimal without a declared size. */
const removeTrailingZeros = (text: string, type: SqlType): string =>
  describeType(type).precision === undefined ? text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '') : text
