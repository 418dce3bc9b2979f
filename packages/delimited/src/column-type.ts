import type { DataType } from '@sluice/contracts'
import type { DateFormat } from './dialect/options.ts'

/** What a column is stored as; precision (digits in total) and scale (digits after the point) where it is DECIMAL. */
export interface StoredType {
  dataType: DataType
  precision?: number
  scale?: number
}

/** The type of a column and, where it is one of days, how they are written. */
export interface ColumnType extends StoredType {
  dateFormat?: DateFormat
}

export function isSameType(one: StoredType, other: StoredType): boolean {
  return one.dataType === other.dataType && one.precision === other.precision && one.scale === other.scale
}
