import type { StoredType, TupleChunk } from '../warehouse.ts'
import { WarehouseProblem } from '../warehouse.ts'
import { type Grown, MisfitCell } from './cell-writer.ts'
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

/** Bytes of one chunk that is sent. */
const chunkBytes = 1024 * 1024

/** Counts what goes through. */
export interface Counted {
  rows: number
  bytes: number
}

/**
 * Tuples of binary COPY as RowBinary, a chunk at a time: bytes are moved and turned round, no object is made of a row. `place`
 * is the table as sentences call it. Throws `WarehouseProblem` BAD_VALUE or NULL_KEY for what ClickHouse cannot keep.
 */
export async function* rowBinary(
  chunks: AsyncIterable<TupleChunk>,
  columns: readonly BinaryColumn[],
  place: string,
  counted: Counted,
): AsyncGenerator<Uint8Array> {
  const writers = columns.map((column) => cellWriter(column.stored.dataType, column.sqlType))
  const out: Grown = { bytes: Buffer.allocUnsafe(chunkBytes), at: 0 }
  for await (const { bytes, release } of chunks) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 0
    while (at < bytes.length) {
      if (view.getInt16(at) !== columns.length) throw malformed(place)
      at += 2
      for (let index = 0; index < columns.length; index++) {
        const { nullable } = columns[index]!
        if (at + 4 > bytes.length) throw malformed(place)
        const length = view.getInt32(at)
        at += 4
        room(out, 64)
        if (length < 0) {
          if (!nullable) throw nullKey(place, columns[index]!)
          out.bytes[out.at++] = 1
          continue
        }
        if (at + length > bytes.length) throw malformed(place)
        if (nullable) out.bytes[out.at++] = 0
        room(out, length + 64)
        try {
          writers[index]!(view, at, length, out)
        } catch (error) {
          if (!(error instanceof MisfitCell)) throw error
          throw badValue(place, columns[index]!, error.message)
        }
        at += length
      }
      counted.rows += 1
      if (out.at >= chunkBytes - 4096) yield taken(out)
    }
    counted.bytes += bytes.length
    release?.()
  }
  if (out.at > 0) yield taken(out)
}

function room(out: Grown, length: number): void {
  if (out.at + length <= out.bytes.length) return
  const bytes = Buffer.allocUnsafe(Math.max(out.bytes.length * 2, out.at + length))
  out.bytes.copy(bytes, 0, 0, out.at)
  out.bytes = bytes
}

/** The socket keeps them until they have left, so the next chunk has memory of its own. */
function taken(out: Grown): Uint8Array {
  const bytes = out.bytes.subarray(0, out.at)
  out.bytes = Buffer.allocUnsafe(chunkBytes)
  out.at = 0
  return bytes
}

const malformed = (place: string) =>
  new WarehouseProblem('BAD_VALUE', `A value for ${place} does not fit: incorrect binary data format.`)

const badValue = (place: string, { label }: BinaryColumn, why: string) =>
  new WarehouseProblem('BAD_VALUE', `A value for ${place}, column "${label}" does not fit: ${why}.`)

const nullKey = (place: string, { label }: BinaryColumn) =>
  new WarehouseProblem('NULL_KEY', `A row of ${place} has no value in primary key column "${label}".`)
