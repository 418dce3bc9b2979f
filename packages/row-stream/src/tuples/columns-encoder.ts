import type { DataType } from '@sluice/contracts'
import type { ColumnVector, VectorKind } from './columns.ts'
import { type CellWriter, cellWriter, type Target } from './columns-cells.ts'

/** Supplies the memory for tuples and receives the filled chunks. */
export interface ChunkSink {
  /** Returns memory for the next chunk, of at least this many bytes. */
  open(atLeast: number): Uint8Array<ArrayBuffer>
  /** Receives a chunk of whole tuples: the first `length` bytes of the opened memory. */
  close(memory: Uint8Array<ArrayBuffer>, length: number): void
}

/**
 * Column vectors as tuples of PostgreSQL's binary COPY. A batch is written a column at a time, each with a loop of its own,
 * to places that were measured before: a row of many columns costs no dispatch per cell.
 */
export class TupleEncoder {
  readonly #writers: CellWriter[]
  readonly #sink: ChunkSink
  #sizes = new Int32Array(0)
  #target: Target | undefined
  #memory: Uint8Array<ArrayBuffer> | undefined
  #at = 0

  /** `columns` are in the order of the tuple: the kind of each vector, and its storage type, the same or wider. */
  constructor(columns: readonly { kind: VectorKind; dataType: DataType }[], sink: ChunkSink) {
    this.#writers = columns.map(({ kind, dataType }) => cellWriter(kind, dataType))
    this.#sink = sink
  }

  /** Appends the rows from `from` up to `to`. Yields whenever a chunk is complete, so that the caller can wait for its consumer. */
  *encode(vectors: readonly ColumnVector[], from: number, to: number): Generator<void, void, void> {
    const sizes = this.#measure(vectors, from, to)
    for (let row = from; row < to; ) {
      if (this.#memory && this.#at + sizes[row]! > this.#memory.length) {
        this.flush()
        yield
      }
      const target = this.#opened(sizes[row]!, to)
      const { bytes, view, cursors } = target
      let end = row
      let at = this.#at
      for (; end < to && at + sizes[end]! <= bytes.length; end++) {
        view.setInt16(at, vectors.length)
        cursors[end] = at + 2
        at += sizes[end]!
      }
      for (let column = 0; column < vectors.length; column++) {
        this.#writers[column]!.write(vectors[column]!, row, end, target)
      }
      this.#at = at
      row = end
    }
  }

  /** Emits the remaining rows. */
  flush(): void {
    if (this.#memory && this.#at > 0) {
      this.#sink.close(this.#memory, this.#at)
      this.#memory = undefined
    }
    this.#at = 0
  }

  #measure(vectors: readonly ColumnVector[], from: number, to: number): Int32Array {
    if (this.#sizes.length < to) this.#sizes = new Int32Array(to)
    const sizes = this.#sizes.fill(2, from, to)
    for (let column = 0; column < vectors.length; column++) {
      this.#writers[column]!.measure(vectors[column]!, from, to, sizes)
    }
    return sizes
  }

  #opened(atLeast: number, rows: number): Target {
    if (!this.#memory) {
      const bytes = this.#sink.open(atLeast)
      this.#memory = bytes
      this.#target = {
        bytes,
        view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        cursors: this.#target?.cursors ?? new Int32Array(0),
      }
    }
    if (this.#target!.cursors.length < rows) this.#target!.cursors = new Int32Array(rows)
    return this.#target!
  }
}
