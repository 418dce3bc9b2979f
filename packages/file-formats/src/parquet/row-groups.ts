import type { ColumnVector } from '@sluice/row-stream'
import type { ColumnMetaData, RowGroup } from 'hyparquet'
import type { DataType } from '@sluice/contracts'
import { MemoryBudget, type ParquetLimits } from './limits.ts'
import { damagedFileProblem, FileProblem } from './file-problems.ts'
import { findDecompressor, knownCodecs } from './page-reader.ts'
import type { ParquetFile } from './parquet-file.ts'
import { LeafReader } from './leaf-reader.ts'
import { NestedColumn } from './nested-column.ts'
import { isFlat, type ParquetColumn } from './schema.ts'
import { NotTextError } from './decode-values.ts'

/** Reads one column of the table, which may be flat or nested. */
interface ColumnReader {
  vector: ColumnVector
  faults: ReadonlyMap<number, string>
  readers: LeafReader[]
  /** Starts a row group. `chunks` are the column chunks of all leaves in the group. */
  open(chunks: readonly ColumnMetaData[]): void
  /** Returns the maximum rows that the next `fill` can read. */
  available(): number
  /** Reads the next `rowCount` rows into `vector` and `faults`. */
  fill(rowCount: number): void
  /** Throws FileProblem if the row group has more values. */
  assertEnded(): void
}

/**
 * Thrown if a column that was read as text has values that are not text. The file is then read again with this column
 * in hexadecimal.
 */
export class BinaryColumnError extends Error {
  override readonly name = 'BinaryColumnError'
  readonly columnIndex: number

  constructor(columnIndex: number) {
    super(`column ${columnIndex} is not text`)
    this.columnIndex = columnIndex
  }
}

/** Rows that were decoded together. The vectors are reused for the next batch. */
export interface RowBatch {
  rows: number
  /** The number of rows in the file before this batch. */
  rowsBefore: number
  vectors: ColumnVector[]
  /** Rows that the warehouse cannot store, by row index: the index of the column, and the reason. */
  faults: Map<number, { column: number; reason: string }>
}

/**
 * Reads all rows of a file, batch by batch. `types` are the stored types of the columns. Throws FileProblem or
 * BinaryColumnError.
 */
export class RowGroups {
  readonly #file: ParquetFile
  readonly #limits: ParquetLimits
  readonly #columns: ColumnReader[]
  #bytesOfFinishedGroups = 0
  #countBytesOfCurrentGroup = () => 0

  constructor(file: ParquetFile, columns: readonly ParquetColumn[], types: readonly DataType[], limits: ParquetLimits) {
    const budget = new MemoryBudget(limits)
    this.#file = file
    this.#limits = limits
    this.#columns = columns.map(({ node }, index) => {
      if (isFlat(node)) return createFlatColumnReader(new LeafReader(file, node.leaf, types[index]!, budget, limits))
      const leafReaders = node.leaves.map((leaf) => new LeafReader(file, leaf, leaf.type.dataType, budget, limits))
      return createNestedColumnReader(new NestedColumn(node, leafReaders, budget, limits))
    })
  }

  /** The bytes of the file read until now. */
  get bytesRead(): number {
    return this.#bytesOfFinishedGroups + this.#countBytesOfCurrentGroup()
  }

  /** For each column, the number of times that lost digits finer than a microsecond. */
  get truncatedValues(): number[] {
    return this.#columns.map(({ readers }) => readers.reduce((sum, { truncatedValues }) => sum + truncatedValues, 0))
  }

  *batches(): Generator<RowBatch, void, void> {
    let rowsBefore = 0
    for (const [index, group] of this.#file.metadata.row_groups.entries()) {
      const rows = Number(group.num_rows)
      if (rows === 0) continue
      this.#openGroup(group, index)
      for (let rowsLeft = rows; rowsLeft > 0; ) {
        const batch = this.#readBatch(rowsLeft, rowsBefore)
        yield batch
        rowsLeft -= batch.rows
        rowsBefore += batch.rows
      }
      for (const column of this.#columns) column.assertEnded()
      this.#bytesOfFinishedGroups += this.#countBytesOfCurrentGroup()
      this.#countBytesOfCurrentGroup = () => 0
    }
  }

  /** Starts reading the column chunks of a row group. */
  #openGroup(group: RowGroup, index: number): void {
    const chunks = listChunks(group, index)
    const leafReaders = this.#columns.flatMap(({ readers }) => readers)
    if (chunks.length !== leafReaders.length) throw damagedFileProblem(`row group ${index + 1}`)
    for (const column of this.#columns) column.open(chunks)
    this.#countBytesOfCurrentGroup = () => leafReaders.reduce((sum, reader) => sum + reader.bytesRead, 0)
  }

  /** Reads as many rows as all columns have in their current pages, at most `rowsLeft`. */
  #readBatch(rowsLeft: number, rowsBefore: number): RowBatch {
    const faults: RowBatch['faults'] = new Map()
    let rows = Math.min(rowsLeft, this.#limits.maxBatchRows)
    const forEachColumn = (visit: (reader: ColumnReader, column: number) => void) => {
      for (const [column, reader] of this.#columns.entries()) {
        try {
          visit(reader, column)
        } catch (error) {
          throw error instanceof NotTextError ? new BinaryColumnError(column) : error
        }
      }
    }
    forEachColumn((reader) => {
      rows = Math.min(rows, reader.available())
    })
    if (rows === 0) throw damagedFileProblem('its last rows', new RangeError('values are missing'))
    forEachColumn((reader, column) => {
      reader.fill(rows)
      for (const [row, reason] of reader.faults) {
        if (!faults.has(row)) faults.set(row, { column, reason })
      }
    })
    return { rows, rowsBefore, vectors: this.#columns.map(({ vector }) => vector), faults }
  }
}

/** Returns the reader of a column that is one leaf. `open` starts a row group, and `fill` reads its next rows. */
function createFlatColumnReader(reader: LeafReader): ColumnReader {
  return {
    vector: reader.vector,
    faults: reader.faults,
    readers: [reader],
    open: (chunks) => reader.open(chunks[reader.leaf.index]!),
    available: () => reader.available(),
    fill: (rowCount) => reader.fill(rowCount),
    assertEnded() {
      if (reader.available() === 0) return
      throw damagedFileProblem(`column "${reader.leaf.path}"`, new RangeError('there are more values than rows'))
    },
  }
}

/** Returns the reader of a nested column. It reads all its leaves, so it can always read the rest of a row group. */
function createNestedColumnReader(column: NestedColumn): ColumnReader {
  return {
    vector: column.vector,
    faults: column.faults,
    readers: column.readers,
    open: (chunks) => column.open(chunks),
    available: () => Infinity,
    fill: (rowCount) => column.fill(rowCount),
    assertEnded: () => column.assertEnded(),
  }
}

/** Returns the column chunks of a row group. Throws FileProblem if one of them cannot be read. */
function listChunks(group: RowGroup, index: number): ColumnMetaData[] {
  return group.columns.map((chunk) => {
    if (chunk.crypto_metadata || chunk.encrypted_column_metadata) {
      throw new FileProblem(
        'PARQUET_ENCRYPTED',
        'has encrypted columns. Write it without encryption and upload it again.',
      )
    }
    if (chunk.file_path) {
      throw new FileProblem(
        'PARQUET_NOT_SUPPORTED',
        'keeps its columns in other files. Write it as one file and upload it again.',
      )
    }
    const data = chunk.meta_data
    if (!data) throw damagedFileProblem(`row group ${index + 1}`)
    if (!findDecompressor(data.codec)) {
      throw new FileProblem(
        'PARQUET_NOT_SUPPORTED',
        `is compressed with ${data.codec ?? 'an unknown codec'}. Use none, or ${knownCodecs.join(', ')}.`,
      )
    }
    return data
  })
}
