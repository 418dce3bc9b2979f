import type { Filling } from '../dialects/dialect.ts'
import type { Grown } from '../rows/cell-writer.ts'
import { type Counted, encodedTuples } from '../rows/encoded-tuples.ts'
import type { LoadContent } from '../warehouse.ts'
import { csvCell } from './csv-cells.ts'

const [comma, newline] = [0x2c, 0x0a]

/** Rows as delimited text, a megabyte of whole lines at a time. `none` stands for NULL: a word that nobody could know. */
export function csvRows(
  { columns, shown }: Filling,
  content: LoadContent,
  none: string,
  counted: Counted,
): AsyncGenerator<Buffer> {
  const writers = columns.map(({ label, type, nullable, stored }, index) => {
    const cell = csvCell(stored.dataType, type)
    const end = index === columns.length - 1 ? newline : comma
    return {
      label,
      none: nullable
        ? (out: Grown) => {
            out.at += out.bytes.write(none, out.at, 'latin1')
            out.bytes[out.at++] = end
          }
        : undefined,
      value: (from: DataView, at: number, length: number, out: Grown) => {
        cell(from, at, length, out)
        out.bytes[out.at++] = end
      },
    }
  })
  const tuples = content.rows(columns.map(({ stored }) => stored))
  return encodedTuples(tuples, writers, { place: shown, counted })
}
