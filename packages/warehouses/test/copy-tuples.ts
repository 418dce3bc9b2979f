import type { RowContent, TupleChunk } from '../src/warehouse.ts'

/** One row of binary COPY: integers as int4, text as text. */
export function tuple(row: readonly (string | number | null)[]): Buffer {
  const parts: Buffer[] = [Buffer.from([row.length >> 8, row.length & 255])]
  for (const cell of row) {
    const bytes = typeof cell === 'number' ? int4(cell) : Buffer.from(cell ?? '')
    parts.push(int4(cell === null ? -1 : bytes.length), bytes)
  }
  return Buffer.concat(parts)
}

function int4(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(value)
  return bytes
}

/**
 * `count` rows of (id INTEGER, name TEXT) in chunks of so many rows. Every chunk's memory is scribbled over once it is
 * released, so whatever is released too early comes out wrong.
 */
export async function* numberedTuples(count: number, name = 'x', rowsPerChunk = 10_000): AsyncGenerator<TupleChunk> {
  for (let from = 1; from <= count; from += rowsPerChunk) {
    const length = Math.min(rowsPerChunk, count - from + 1)
    const bytes = Buffer.concat(Array.from({ length }, (_, index) => tuple([from + index, name])))
    yield { bytes, release: () => bytes.fill(0xee) }
  }
}

export const binary = (chunks: () => AsyncIterable<TupleChunk>, more: { size?: number } = {}): RowContent => ({
  format: 'copy-binary',
  rows: chunks,
  ...more,
})
