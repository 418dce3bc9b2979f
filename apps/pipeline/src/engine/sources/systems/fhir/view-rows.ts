import { BadRecord } from '../tables/flatten.ts'

/** The values of a row, in the order of a view's columns. */
export type Row = readonly unknown[]

/** Rows that one resource may come to. */
export const mostRows = 100_000

/** Each row of one with each of the others: what stands side by side in a view. Throws `BadRecord` where that is too many. */
export function cross(parts: readonly (readonly Row[])[]): Row[] {
  let rows: Row[] = [[]]
  for (const part of parts) {
    if (rows.length * part.length > mostRows)
      throw new BadRecord(`comes to more than ${mostRows} rows: its lists are side by side in the view`)
    rows = rows.flatMap((row) => part.map((other) => [...row, ...other]))
  }
  return rows
}

/** Rows one part under the other. Throws `BadRecord` where they become too many, before there are more. */
export function stacked(parts: Iterable<readonly Row[]>): Row[] {
  const rows: Row[] = []
  for (const part of parts) {
    if (rows.length + part.length > mostRows) throw new BadRecord(`comes to more than ${mostRows} rows of the view`)
    for (const row of part) rows.push(row)
  }
  return rows
}
