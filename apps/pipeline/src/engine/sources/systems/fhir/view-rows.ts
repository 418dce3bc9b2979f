import { BadRecord } from '../tables/flatten.ts'

/** The values of a row, in the order of a view's columns. */
export type Row = readonly unknown[]

/** Rows that one resource may come to. */
export const mostRows = 100_000
/** Values in all rows of one resource, where its view is wide: they are made at once, in 0.3 seconds and 60 MB. */
const mostValues = 500_000

/** Each row of one with each of the others: what stands side by side in a view. Throws `BadRecord` where that is too many. */
export function cross(parts: readonly (readonly Row[])[]): Row[] {
  const count = parts.reduce((product, part) => product * part.length, 1)
  const width = parts.reduce((sum, part) => sum + (part[0]?.length ?? 0), 0)
  demandFew(count, width, ': its lists are side by side in the view')
  // Columns alone, which most crossings are of.
  if (count === 1) return [parts.flatMap(([row]) => row!)]
  // The last part changes fastest. Each row is made once: to put one part to another would copy it for each column.
  const steps = parts.map((_, index) => parts.slice(index + 1).reduce((product, part) => product * part.length, 1))
  return Array.from({ length: count }, (_, at) =>
    parts.flatMap((part, index) => part[Math.floor(at / steps[index]!) % part.length]!),
  )
}

/** Rows one part under the other. Throws `BadRecord` where they become too many, before there are more. */
export function stacked(parts: Iterable<readonly Row[]>): Row[] {
  const rows: Row[] = []
  for (const part of parts) {
    demandFew(rows.length + part.length, part[0]?.length ?? 0, ' of the view')
    for (const row of part) rows.push(row)
  }
  return rows
}

function demandFew(rows: number, width: number, where: string): void {
  if (rows > mostRows) throw new BadRecord(`comes to more than ${mostRows} rows${where}`)
  if (rows * width > mostValues)
    throw new BadRecord(`comes to more than ${mostValues} values, ${rows} rows or more of ${width} columns${where}`)
}
