import type { StoredType } from '@sluice/row-stream'
import type { DateFormat } from './delimited-options.ts'

/** The type of a column and, for dates, the date spelling. */
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

/** True if the day comes before the month. Undefined if the year comes first or the type has no date. */
export function isDayFirst({ dateFormat }: ColumnType): boolean | undefined {
  if (dateFormat === undefined) return undefined
  return dayFirstFormats.includes(dateFormat) ? true : monthFirstFormats.includes(dateFormat) ? false : undefined
}

export function isSameType(firstType: StoredType, secondType: StoredType): boolean {
  return (
    firstType.dataType === secondType.dataType &&
    firstType.precision === secondType.precision &&
    firstType.scale === secondType.scale
  )
}
