import { type TupleChunk, WarehouseProblem } from '../warehouse.ts'
import { type CellWriter, type GrowingBuffer, MisfitCell } from './cell-writer.ts'

/** Writes the values of one column. Columns have the same order as the values of a tuple. */
export interface ColumnWriter {
  /** The column's name in messages. */
  label: string
  writeValue: CellWriter
  /** Writes NULL, in at most 16 bytes. Undefined for a key column, which cannot be NULL. */
  writeNull: ((out: GrowingBuffer) => void) | undefined
}

/** The row and byte counts of a stream. */
export interface StreamCounts {
  rows: number
  bytes: number
}

const chunkBytes = 1024 * 1024
/** A chunk is yielded once it has this size, so that the next row usually fits without enlarging the buffer. */
const fullChunkBytes = chunkBytes - 4096
/** Sizes of the fields of a tuple. */
const columnCountBytes = 2
const valueLengthBytes = 4
/** The maximum bytes that a converted value needs beyond twice its original size. */
const valueOverheadBytes = 64

/**
 * Converts rows in PostgreSQL's binary COPY format to another server's row format and yields chunks of complete rows.
 * Copies bytes without creating an object per row. `qualifiedName` is the table's name in messages. Adds the rows and
 * the bytes that it reads to `counts`. If `rowSeparator` is set, that byte separates the rows of a chunk. Throws
 * `WarehouseProblem` BAD_VALUE or NULL_KEY for a value that the server cannot store.
 */
export async function* convertCopyTuples(
  chunks: AsyncIterable<TupleChunk>,
  columns: readonly ColumnWriter[],
  { qualifiedName, counts, rowSeparator }: { qualifiedName: string; counts: StreamCounts; rowSeparator?: number },
): AsyncGenerator<Buffer> {
  const out: GrowingBuffer = { bytes: Buffer.allocUnsafe(chunkBytes), position: 0 }
  for await (const { bytes, release } of chunks) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let position = 0
    while (position < bytes.length) {
      if (rowSeparator !== undefined && out.position > 0) out.bytes[out.position++] = rowSeparator
      position = convertTuple(view, position, columns, qualifiedName, out)
      // The next iteration may append a separator.
      ensureRoom(out, 1)
      counts.rows += 1
      if (out.position >= fullChunkBytes) yield takeChunk(out)
    }
    counts.bytes += bytes.length
    release?.()
  }
  if (out.position > 0) yield takeChunk(out)
}

/**
 * Converts the tuple at `start` and appends it to `out`. Returns the position after the tuple. A tuple is a 16-bit
 * column count, and for each column a 32-bit length (-1 for NULL) and that many bytes.
 */
function convertTuple(
  view: DataView,
  start: number,
  columns: readonly ColumnWriter[],
  qualifiedName: string,
  out: GrowingBuffer,
): number {
  if (view.getInt16(start) !== columns.length) throw malformedTupleProblem(qualifiedName)
  let position = start + columnCountBytes
  for (let index = 0; index < columns.length; index++) {
    const column = columns[index]!
    if (position + valueLengthBytes > view.byteLength) throw malformedTupleProblem(qualifiedName)
    const length = view.getInt32(position)
    position += valueLengthBytes
    ensureRoom(out, valueOverheadBytes)
    const isNull = length < 0
    if (isNull) {
      if (!column.writeNull) throw nullKey(qualifiedName, column)
      column.writeNull(out)
      continue
    }
    if (position + length > view.byteLength) throw malformedTupleProblem(qualifiedName)
    // A converted value has at most twice its original size, plus the overhead.
    ensureRoom(out, 2 * length + valueOverheadBytes)
    try {
      column.writeValue(view, position, length, out)
    } catch (error) {
      if (!(error instanceof MisfitCell)) throw error
      throw createBadValueProblem(qualifiedName, column, error.message)
    }
    position += length
  }
  return position
}

/** Enlarges the buffer, if necessary, so that `length` more bytes fit. */
function ensureRoom(out: GrowingBuffer, length: number): void {
  if (out.position + length <= out.bytes.length) return
  const bytes = Buffer.allocUnsafe(Math.max(out.bytes.length * 2, out.position + length))
  out.bytes.copy(bytes, 0, 0, out.position)
  out.bytes = bytes
}

/**
 * Returns the filled part of the buffer and allocates new memory for the buffer, because the socket needs the returned
 * bytes until they are sent.
 */
function takeChunk(out: GrowingBuffer): Buffer {
  const bytes = out.bytes.subarray(0, out.position)
  out.bytes = Buffer.allocUnsafe(chunkBytes)
  out.position = 0
  return bytes
}

const malformedTupleProblem = (qualifiedName: string) =>
  new WarehouseProblem(
    'BAD_VALUE',
    `The warehouse cannot store a value of ${qualifiedName}: incorrect binary data format.`,
  )

const createBadValueProblem = (qualifiedName: string, { label }: ColumnWriter, reason: string) =>
  new WarehouseProblem(
    'BAD_VALUE',
    `The warehouse cannot store a value of ${qualifiedName}, column "${label}": ${reason}.`,
  )

const nullKey = (qualifiedName: string, { label }: ColumnWriter) =>
  new WarehouseProblem(
    'NULL_KEY',
    `A row of ${qualifiedName} has no value in key column "${label}". Correct the source, or choose another key.`,
  )
