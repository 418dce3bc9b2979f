import type { Grown } from '../rows/cell-writer.ts'
import { type Counted, encodedTuples } from '../rows/encoded-tuples.ts'
import type { StoredType, TupleChunk } from '../warehouse.ts'
import { cellWriter } from './cells.ts'

/** One column of the staging table, in the order of the tuples. */
export interface BinaryColumn {
  label: string
  /** What the tuples hold. */
  stored: StoredType
  /** What the table has, without `Nullable(…)`. */
  sqlType: string
  /** Key columns take no NULL. */
  nullable: boolean
}

/** Tuples of binary COPY as RowBinary: a byte before each value of a column that takes NULL says whether there is one. */
export function rowBinary(
  chunks: AsyncIterable<TupleChunk>,
  columns: readonly BinaryColumn[],
  place: string,
  counted: Counted,
): AsyncGenerator<Buffer> {
  const writers = columns.map(({ label, stored, sqlType, nullable }) => {
    const value = cellWriter(stored.dataType, sqlType)
    if (!nullable) return { label, value, none: undefined }
    return {
      label,
      none: (out: Grown) => void (out.bytes[out.at++] = 1),
      value: (from: DataView, at: number, length: number, out: Grown) => {
        out.bytes[out.at++] = 0
        value(from, at, length, out)
      },
    }
  })
  return encodedTuples(chunks, writers, { place, counted })
}
