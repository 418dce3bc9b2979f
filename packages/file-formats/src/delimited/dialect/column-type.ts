import type { StoredType } from '@sluice/row-stream'
import type { DateFormat } from './delimited-options.ts'

/** The type of a column and, for dates and times, the date format. */
export interface ColumnType extends StoredType {
  dateFormat?: DateFormat
  /**
   * Why the column has this type. Absent: its values or the source prove it. NOTHING: the column has no values.
   * AMBIGUOUS: day and month could be swapped. In both cases the type is TEXT. REQUESTED: the options set it.
   */
  evidence?: 'NOTHING' | 'AMBIGUOUS' | 'REQUESTED'
  /** True if the source has checked that JSONB can store every value. */
  hasValidJson?: boolean
}

const dayFirstFormats: readonly DateFormat[] = ['DD.MM.YYYY', 'DD/MM/YYYY', 'DD-MM-YYYY']
const monthFirstFormats: readonly DateFormat[] = ['MM/DD/YYYY', 'MM-DD-YYYY']

/**
 * Returns true if the day comes first in the dates of a column, and false if the month does. Returns undefined if the
 * year comes first or the type has no date.
 */
export function isDayFirst({ dateFormat }: ColumnType): boolean | undefined {
  if (dateFormat === undefined) return undefined
  if (dayFirstFormats.includes(dateFormat)) return true
  return monthFirstFormats.includes(dateFormat) ? false : undefined
}

/** True if both types have the same data type, precision and scale. Their date formats may differ. */
export function isSameType(firstType: StoredType, secondType: StoredType): boolean {
  return (
    firstType.dataType === secondType.dataType &&
    firstType.precision === secondType.precision &&
    firstType.scale === secondType.scale
  )
}
