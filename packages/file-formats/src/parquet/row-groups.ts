import type { ColumnVector } from '@sluice/row-stream'
import type { ColumnMetaData, RowGroup } from 'hyparquet'
import type { DataType } from '@sluice/contracts'
import { MemoryBudget, type ParquetLimits } from './limits.ts'
import { damagedFileProblem, FileProblem } from './file-problems.ts'
import { findDecompression, knownCodecs } from './pages.ts'
import type { ParquetFile } from './footer.ts'
import { LeafReader } from './leaf-reader.ts'
import { NestedColumn } from './nested-column.ts'
import { isFlat, type ParquetColumn, type SchemaLeaf } from './schema.ts'
import { NotText } from './decode-values.ts'

/** A column of the table while the file is read. */
interface OpenColumn {
  vector: ColumnVector
  faults: ReadonlyMap<number, string>
  readers: LeafReader[]
  open(chunks: readonly ColumnMetaData[]): void
  available(): number
  fill(rows: number): void
  assertEnded(): void
}

/**
 * Thrown if a column that was read as text contains other bytes. The file is then read again with the column in
 * hexadecimal.
 */
export class HoldsBytes extends Error {
  override readonly name = 'HoldsBytes'
  readonly column: number

  constructor(column: number) {
    super(`column ${column} is not text`)
    this.column = column
  }
}

/** Rows that were decoded together. The vectors are reused for the next batch. */
export interface RowBatch {
  rows: number
  /** The number of rows in the file before this batch. */
  before: number
  vectors: ColumnVector[]
  /** Rows that the warehouse cannot store, by row index: the index of the column, and the reason. */
  faults: Map<number, { column: number; reason: string }>
}

/**
 * Reads all rows of a file, batch by batch. `types` are the stored types of the columns. Throws FileProblem or
 * HoldsBytes.
 */
export class RowGroups {
  readonly #file: ParquetFile
  readonly #limits: ParquetLimits
  readonly #columns: OpenColumn[]
  #finishedBytes = 0
  #current = () => 0

  constructor(file: ParquetFile, columns: readonly ParquetColumn[], types: readonly DataType[], limits: ParquetLimits) {
    const budget = new MemoryBudget(limits)
    this.#file = file
    this.#limits = limits
    this.#columns = columns.map(({ node }, index) => {
      const readerOf = (leaf: SchemaLeaf) => {
        return new LeafReader(file, leaf, isFlat(node) ? types[index]! : leaf.type.dataType, budget, limits)
      }
      if (!isFlat(node)) return createNestedColumn(new NestedColumn(node, node.leaves.map(readerOf), budget, limits))
      return createFlatColumn(readerOf(node.leaf))
    })
  }

  /** The bytes of the file read until now. */
  get bytesRead(): number {
    return this.#finishedBytes + this.#current()
  }

  /** For each column, the number of values that lost digits finer than a microsecond. */
  get cuts(): number[] {
    return this.#columns.map(({ readers }) => readers.reduce((sum, { cuts }) => sum + cuts, 0))
  }

  *batches(): Generator<RowBatch, void, void> {
    let rowsBefore = 0
    for (const [index, group] of this.#file.metadata.row_groups.entries()) {
      const rows = Number(group.num_rows)
      if (rows === 0) continue
      this.#open(group, index)
      for (let rowsLeft = rows; rowsLeft > 0; ) {
        const batch = this.#batch(rowsLeft, rowsBefore)
        yield batch
        rowsLeft -= batch.rows
        rowsBefore += batch.rows
      }
      for (const column of this.#columns) column.assertEnded()
      this.#finishedBytes += this.#current()
      this.#current = () => 0
    }
  }

  #open(group: RowGroup, index: number): void {
    const chunks = chunksOf(group, index)
    const leaves = this.#columns.flatMap(({ readers }) => readers)
    if (chunks.length !== leaves.length) throw damagedFileProblem(`row group ${index + 1}`)
    for (const column of this.#columns) column.open(chunks)
    this.#current = () => leaves.reduce((sum, reader) => sum + reader.bytesRead, 0)
  }

  #batch(rowsLeft: number, rowsBefore: number): RowBatch {
    const faults: RowBatch['faults'] = new Map()
    let rows = Math.min(rowsLeft, this.#limits.batchRows)
    const forEachColumn = (visit: (reading: OpenColumn, column: number) => void) => {
      for (const [column, reading] of this.#columns.entries()) {
        try {
          visit(reading, column)
        } catch (error) {
          throw error instanceof NotText ? new HoldsBytes(column) : error
        }
      }
    }
    forEachColumn((reading) => {
      rows = Math.min(rows, reading.available())
    })
    if (rows === 0) throw damagedFileProblem('its last rows', new RangeError('values are missing'))
    forEachColumn((reading, column) => {
      reading.fill(rows)
      for (const [row, reason] of reading.faults) {
        if (!faults.has(row)) faults.set(row, { column, reason })
      }
    })
    return { rows, before: rowsBefore, vectors: this.#columns.map(({ vector }) => vector), faults }
  }
}

function createFlatColumn(reader: LeafReader): OpenColumn {
  return {
    vector: reader.vector,
    faults: reader.faults,
    readers: [reader],
    open: (chunks) => reader.open(chunks[reader.leaf.index]!),
    available: () => reader.available(),
    fill: (rows) => reader.fill(rows),
    assertEnded() {
      if (reader.available() === 0) return
      throw damagedFileProblem(`column "${reader.leaf.path}"`, new RangeError('there are more values than rows'))
    },
  }
}

function createNestedColumn(column: NestedColumn): OpenColumn {
  return {
    vector: column.vector,
    faults: column.faults,
    readers: column.readers,
    open: (chunks) => column.open(chunks),
    available: () => Infinity,
    fill: (rows) => column.fill(rows),
    assertEnded: () => column.assertEnded(),
  }
}

function chunksOf(group: RowGroup, index: number): ColumnMetaData[] {
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
    if (!findDecompression(data.codec)) {
      throw new FileProblem(
        'PARQUET_NOT_SUPPORTED',
        `is compressed with ${data.codec ?? 'an unknown codec'}. Use none, or ${knownCodecs.join(', ')}.`,
      )
    }
    return data
  })
}
