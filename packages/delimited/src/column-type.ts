import type { DataType } from '@sluice/contracts'
import type { DateFormat } from './dialect/delimited-options.ts'

/** What a column is stored as; precision (digits in total) and scale (digits after the point) where it is DECIMAL. */
export interface StoredType {
  dataType: DataType
  precision?: number
  scale?: number
}

/** The type of a column and, where it is one of days, how they are written. */
export interface ColumnType extends StoredType {
  dateFormat?: DateFormat
  /**
   * What is known of the type beside that. Absent: the values, or the source, say what it is. NOTHING: no value was seen. AMBIGUOUS: days
   * and months could change places. Both are TEXT. REQUESTED: the options give the type.
   */
  evidence?: 'NOTHING' | 'AMBIGUOUS' | 'REQUESTED'
}

const dayFirstFormats: readonly DateFormat[] = ['DD.MM.YYYY', 'DD/MM/YYYY', 'DD-MM-YYYY']
const monthFirstFormats: readonly DateFormat[] = ['MM/DD/YYYY', 'MM-DD-YYYY']

/** Whether days come before months; undefined where the year comes first, or there is no date. */
export function isDayFirst({ dateFormat }: ColumnType): boolean | undefined {
  if (dateFormat === undefined) return undefined
  return dayFirstFormats.includes(dateFormat) ? true : monthFirstFormats.includes(dateFormat) ? false : undefined
}

export function isSameType(one: StoredType, other: StoredType): boolean {
  return one.dataType === other.dataType && one.precision === other.precision && one.scale === other.scale
}
