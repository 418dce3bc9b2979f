import type { DataType } from '@sluice/contracts'
import {
  type BooleanVector,
  type BytesVector,
  type ColumnVector,
  type DateVector,
  emptyVector,
  type FloatingVector,
  type IntegerVector,
  type TimestampVector,
  unscaledInteger,
  type VectorKind,
  integerOfHalves,
} from './column-vectors.ts'
import { epochDays, epochMicroseconds } from './date-and-time-encoding.ts'
import { NumericBuffer } from './numeric-buffer.ts'
import { vectorText } from './vector-text.ts'

/** Provides memory for encoded rows and receives the filled chunks. */
export interface ChunkSink {
  /** Returns memory of at least this many bytes for the next chunk. */
  open(minBytes: number): Uint8Array<ArrayBuffer>
  /** Receives a chunk of complete rows: the first `length` bytes of the memory from `open`. */
  close(memory: Uint8Array<ArrayBuffer>, length: number): void
}

/**
 * Encodes column vectors as rows in PostgreSQL's binary COPY format. Writes a batch column by column, each column with
 * its own loop, to positions that were computed before. So a row with many columns needs no dispatch per cell.
 */
export class TupleEncoder {
  readonly #writers: CellWriter[]
  readonly #sink: ChunkSink
  #sizes = new Int32Array(0)
  #target: TupleTarget | undefined
  #memory: Uint8Array<ArrayBuffer> | undefined
  #at = 0

  /**
   * Creates an encoder. `columns` are in the order of the row's fields: the kind of each vector, and its stored type,
   * which is the same or wider.
   */
  constructor(columns: readonly { kind: VectorKind; dataType: DataType }[], sink: ChunkSink) {
    this.#writers = columns.map(({ kind, dataType }) => createCellWriter(kind, dataType))
    this.#sink = sink
  }

  /**
   * Appends the rows from `from` to `to`. Yields whenever a chunk is complete, so that the caller can wait for its
   * consumer.
   */
  *encode(vectors: readonly ColumnVector[], from: number, to: number): Generator<void, void, void> {
    const sizes = this.#measure(vectors, from, to)
    for (let row = from; row < to; ) {
      if (this.#memory && this.#at + sizes[row]! > this.#memory.length) {
        this.flush()
        yield
      }
      const target = this.#openTarget(sizes[row]!, to)
      const { bytes, view, cursors } = target
      let end = row
      let at = this.#at
      // As many rows as fit into the chunk.
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

  /** Returns the size in bytes of each row. */
  #measure(vectors: readonly ColumnVector[], from: number, to: number): Int32Array {
    if (this.#sizes.length < to) this.#sizes = new Int32Array(to)
    const sizes = this.#sizes.fill(2, from, to)
    for (let column = 0; column < vectors.length; column++) {
      this.#writers[column]!.measure(vectors[column]!, from, to, sizes)
    }
    return sizes
  }

  /**
   * Returns the memory of the current chunk, or opens a chunk with at least `minBytes` bytes. It has cursors for rows
   * up to the index `rowEnd`.
   */
  #openTarget(minBytes: number, rowEnd: number): TupleTarget {
    if (!this.#memory) {
      const bytes = this.#sink.open(minBytes)
      this.#memory = bytes
      this.#target = {
        bytes,
        view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
        cursors: this.#target?.cursors ?? new Int32Array(0),
      }
    }
    if (this.#target!.cursors.length < rowEnd) this.#target!.cursors = new Int32Array(rowEnd)
    return this.#target!
  }
}

/**
 * The target memory for encoded rows. `cursors[row]` is the position of the row's next cell; each write advances it.
 */
interface TupleTarget {
  bytes: Uint8Array
  view: DataView
  cursors: Int32Array
}

/**
 * Writes the cells of one column with their length prefixes. `measure` adds the bytes of each cell to `rowSizes`;
 * `write` then writes the same rows.
 */
interface CellWriter {
  measure(vector: ColumnVector, from: number, to: number, rowSizes: Int32Array): void
  write(vector: ColumnVector, from: number, to: number, target: TupleTarget): void
}

/** The length in bytes from which a native copy is faster than a loop. */
const minNativeCopyBytes = 48
const epochLow = Number(epochMicroseconds & 0xffff_ffffn)
const epochHigh = Number(epochMicroseconds >> 32n)
const microsecondsPerDay = 86_400_000_000n

/** Returns the writer for columns of this kind that are stored as `dataType`, the same or a wider type. */
function createCellWriter(kind: VectorKind, dataType: DataType): CellWriter {
  switch (dataType) {
    case 'SMALLINT':
      if (kind === 'integer')
        return createFixedWriter(2, (v: IntegerVector, row, view, at) => view.setInt16(at, v.low[row]!))
      break
    case 'INTEGER':
      if (kind === 'integer')
        return createFixedWriter(4, (v: IntegerVector, row, view, at) => view.setInt32(at, v.low[row]!))
      break
    case 'BIGINT':
      if (kind === 'integer') return createFixedWriter(8, writeBigint)
      break
    case 'FLOAT':
    case 'DOUBLE': {
      const isSinglePrecision = dataType === 'FLOAT'
      if (kind === 'float' || kind === 'double')
        return isSinglePrecision ? createFixedWriter(4, writeFloat) : createFixedWriter(8, writeDouble)
      if (kind === 'integer')
        return isSinglePrecision
          ? createFixedWriter(4, writeIntegerAsFloat)
          : createFixedWriter(8, writeIntegerAsDouble)
      break
    }
    case 'BOOLEAN':
      if (kind === 'boolean')
        return createFixedWriter(1, (v: BooleanVector, row, view, at) => view.setUint8(at, v.bits[row]!))
      break
    case 'DATE':
      if (kind === 'date')
        return createFixedWriter(4, (v: DateVector, row, view, at) => view.setInt32(at, v.days[row]! - epochDays))
      break
    case 'TIMESTAMP':
    case 'TIMESTAMPTZ':
      if (kind === 'timestamp' || kind === 'timestamptz') return createFixedWriter(8, writeTimestamp)
      if (kind === 'date') return createFixedWriter(8, writeDateAsTimestamp)
      break
    case 'DECIMAL':
      if (kind === 'decimal' || kind === 'integer' || kind === 'float' || kind === 'double')
        return createNumericWriter()
      break
    case 'JSONB':
      if (kind === 'json') return createBytesWriter({ isJsonb: true })
      break
    default:
      return kind === 'text' || kind === 'json' ? createBytesWriter({ isJsonb: false }) : createTextWriter()
  }
  throw new Error(`A column of ${kind} cannot be stored as ${dataType}`)
}

type WriteValue<V extends ColumnVector> = (vector: V, row: number, view: DataView, at: number) => void

function writeBigint(vector: IntegerVector, row: number, view: DataView, at: number): void {
  view.setInt32(at, vector.high[row]!)
  view.setInt32(at + 4, vector.low[row]!)
}

function writeFloat(vector: FloatingVector, row: number, view: DataView, at: number): void {
  view.setFloat32(at, vector.values[row]!)
}

function writeDouble(vector: FloatingVector, row: number, view: DataView, at: number): void {
  view.setFloat64(at, vector.values[row]!)
}

function writeIntegerAsFloat(vector: IntegerVector, row: number, view: DataView, at: number): void {
  view.setFloat32(at, Number(integerOfHalves(vector.low[row]!, vector.high[row]!)))
}

function writeIntegerAsDouble(vector: IntegerVector, row: number, view: DataView, at: number): void {
  view.setFloat64(at, Number(integerOfHalves(vector.low[row]!, vector.high[row]!)))
}

function writeTimestamp(vector: TimestampVector, row: number, view: DataView, at: number): void {
  const low = (vector.low[row]! >>> 0) - epochLow
  view.setInt32(at, vector.high[row]! - epochHigh - (low < 0 ? 1 : 0))
  view.setInt32(at + 4, low)
}

function writeDateAsTimestamp(vector: DateVector, row: number, view: DataView, at: number): void {
  view.setBigInt64(at, BigInt(vector.days[row]! - epochDays) * microsecondsPerDay)
}

/** The bytes of the length before each value. A null has only the length -1. */
const lengthPrefixBytes = 4
const nullLength = -1

/** Returns a writer for values of `width` bytes. `writeValue` writes a value that is not null. */
function createFixedWriter<V extends ColumnVector>(width: number, writeValue: WriteValue<V>): CellWriter {
  return {
    measure({ nulls }, from, to, rowSizes) {
      for (let row = from; row < to; row++) rowSizes[row]! += nulls[row] ? lengthPrefixBytes : lengthPrefixBytes + width
    },
    write(vector, from, to, { view, cursors }) {
      const { nulls } = vector
      for (let row = from; row < to; row++) {
        const at = cursors[row]!
        if (nulls[row]) {
          view.setInt32(at, nullLength)
          cursors[row] = at + lengthPrefixBytes
          continue
        }
        view.setInt32(at, width)
        writeValue(vector as V, row, view, at + lengthPrefixBytes)
        cursors[row] = at + lengthPrefixBytes + width
      }
    },
  }
}

/** The version of binary jsonb, which precedes each value. */
const jsonbVersion = 1

/** Returns a writer for values of any length. With `isJsonb`, the version of binary jsonb precedes each value. */
function createBytesWriter({ isJsonb }: { isJsonb: boolean }): CellWriter {
  const versionBytes = isJsonb ? 1 : 0
  return {
    measure(vector, from, to, rowSizes) {
      const { nulls, lengths } = vector as BytesVector
      for (let row = from; row < to; row++)
        rowSizes[row]! += nulls[row] ? lengthPrefixBytes : lengthPrefixBytes + versionBytes + lengths[row]!
    },
    write(vector, from, to, { bytes: targetBytes, view, cursors }) {
      const { nulls, data, starts, lengths } = vector as BytesVector
      const source = new DataView(data.buffer, data.byteOffset, data.byteLength)
      for (let row = from; row < to; row++) {
        const at = cursors[row]!
        if (nulls[row]) {
          view.setInt32(at, nullLength)
          cursors[row] = at + lengthPrefixBytes
          continue
        }
        const length = lengths[row]!
        const start = starts[row]!
        view.setInt32(at, versionBytes + length)
        if (isJsonb) targetBytes[at + lengthPrefixBytes] = jsonbVersion
        const valueAt = at + lengthPrefixBytes + versionBytes
        if (length < minNativeCopyBytes) copyShort(source, start, view, valueAt, length)
        else targetBytes.set(data.subarray(start, start + length), valueAt)
        cursors[row] = valueAt + length
      }
    },
  }
}

/** Copies a few bytes. Copying four bytes at a time is twice as fast as copying single bytes. */
function copyShort(source: DataView, start: number, target: DataView, at: number, length: number): void {
  let copiedBytes = 0
  for (; copiedBytes + 4 <= length; copiedBytes += 4)
    target.setInt32(at + copiedBytes, source.getInt32(start + copiedBytes))
  for (; copiedBytes < length; copiedBytes++) target.setUint8(at + copiedBytes, source.getUint8(start + copiedBytes))
}

/**
 * Returns a writer for values with a length that is only known after encoding. `measure` encodes the values with
 * `encodeValues`, which sets `data`, `starts` and `lengths` of `encodedValues`; `write` copies them.
 */
function createBufferedWriter(
  encodeValues: (vector: ColumnVector, from: number, to: number, encodedValues: BytesVector) => void,
): CellWriter {
  const encodedValues = emptyVector('text', 0) as BytesVector
  const bytesWriter = createBytesWriter({ isJsonb: false })
  return {
    measure(vector, from, to, rowSizes) {
      const rowCount = vector.nulls.length
      if (encodedValues.starts.length < to) {
        encodedValues.starts = new Uint32Array(rowCount)
        encodedValues.lengths = new Uint32Array(rowCount)
      }
      encodedValues.nulls = vector.nulls
      encodeValues(vector, from, to, encodedValues)
      bytesWriter.measure(encodedValues, from, to, rowSizes)
    },
    write: (_vector, from, to, target) => bytesWriter.write(encodedValues, from, to, target),
  }
}

/** Returns a writer that encodes integers, decimals or floats as PostgreSQL's numeric. */
function createNumericWriter(): CellWriter {
  const buffer = new NumericBuffer()
  return createBufferedWriter((vector, from, to, encodedValues) => {
    buffer.clear()
    for (let row = from; row < to; row++) {
      if (vector.nulls[row]) continue
      const start = buffer.length
      appendNumeric(buffer, vector, row)
      encodedValues.starts[row] = start
      encodedValues.lengths[row] = buffer.length - start
    }
    encodedValues.data = buffer.bytes
  })
}

/** Appends the number of a row, which is not null, in PostgreSQL's numeric format. */
function appendNumeric(buffer: NumericBuffer, vector: ColumnVector, row: number): void {
  if (vector.kind === 'integer') buffer.push(integerOfHalves(vector.low[row]!, vector.high[row]!), 0)
  else if (vector.kind === 'decimal') buffer.push(unscaledInteger(vector, row), vector.scale)
  else buffer.pushFloating((vector as FloatingVector).values[row]!, vectorText(vector, row))
}

/** Returns a writer that encodes any column as text, for a table in which the column is already text. */
function createTextWriter(): CellWriter {
  return createBufferedWriter((vector, from, to, encodedValues) => {
    const texts: Buffer[] = []
    let totalBytes = 0
    for (let row = from; row < to; row++) {
      if (vector.nulls[row]) continue
      const text = Buffer.from(vectorText(vector, row))
      encodedValues.starts[row] = totalBytes
      encodedValues.lengths[row] = text.length
      totalBytes += text.length
      texts.push(text)
    }
    encodedValues.data = Buffer.concat(texts, totalBytes)
  })
}
