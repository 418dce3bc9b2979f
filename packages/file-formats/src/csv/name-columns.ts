import { type Column, toUniqueIdentifiers } from '@sluice/row-stream'
import type { InferredColumn } from '../delimited/delimited-reader.ts'

/**
 * Returns the columns with their names in the table: the name from the options, or else one derived from the label.
 * Makes the names unique.
 */
export function columnsWithNames(
  columns: readonly InferredColumn[],
  namesFromOptions: readonly (string | undefined)[],
): Column[] {
  const names = toUniqueIdentifiers(columns.map(({ label }, index) => namesFromOptions[index] ?? label))
  return columns.map(({ label, dataType, precision, scale, evidence }, index) => ({
    name: names[index]!,
    label,
    dataType,
    ...(precision !== undefined && { precision }),
    ...(scale !== undefined && { scale }),
    ...(evidence && { evidence }),
  }))
}
