import type { Column } from './row-stream.ts'

const maxTextLength = 1000

export function describeColumns(columns: readonly Column[]): string {
  const columnList = columns.map(formatColumn).join(', ')
  return columnList.length > maxTextLength ? `${columnList.slice(0, maxTextLength)}…` : columnList
}

function formatColumn({ name, dataType, precision, scale }: Column): string {
  return precision === undefined ? `${name} ${dataType}` : `${name} ${dataType}(${precision},${scale ?? 0})`
}

/** Formats a count with a singular noun: `1 object`, `2,000 objects`. */
export const formatCount = (amount: number, noun: string): string =>
  `${amount.toLocaleString('en')} ${noun}${amount === 1 ? '' : 's'}`
