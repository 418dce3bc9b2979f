import type { DataType } from '@sluice/contracts'

/** The wider of two kinds of text. */
export function widestText(one: DataType, other: DataType): DataType {
  if (one === other) return one
  const sizes: Partial<Record<DataType, number>> = { VARCHAR_50: 50, VARCHAR_255: 255 }
  const [a, b] = [sizes[one], sizes[other]]
  return a === undefined || b === undefined ? 'TEXT' : a > b ? one : other
}
