import type { Column, ColumnProfile, StoredType } from '../row-stream.ts'
import { type ProfilerModule, releaseProfilerModule, acquireProfilerModule } from './wasm-profiler.ts'
import { profileColumn } from './profile-column.ts'
import { openSample } from './row-sample.ts'
import { encodingCodeOf } from './value-encodings.ts'

/** The profile (column statistics) of the measured rows. */
export interface RowsProfile {
  rows: number
  columns: ColumnProfile[]
}

/** The bytes for the sample of rows: at least 1 MiB, and 4 KiB per column. */
const sampleMemory = { least: 1024 * 1024, ofColumn: 4 * 1024 }

/**
 * Measures the rows of one table in a single pass over chunks in binary COPY format. The result does not depend on how
 * the rows are split into chunks. Takes 2 MB of memory, plus up to 12 KB for each column from the 256th on.
 */
export class TableProfiler implements Disposable {
  readonly #types: readonly StoredType[]
  readonly #module: ProfilerModule
  /** The memory of the WebAssembly module. */
  readonly #bytes: Buffer
  #isMalformed = false
  #isReturned = false

  constructor(types: readonly StoredType[]) {
    this.#types = types
    this.#module = acquireProfilerModule()
    this.#module.start(types.length, Math.max(sampleMemory.least, types.length * sampleMemory.ofColumn))
    for (const [column, { dataType }] of types.entries()) this.#module.setColumnType(column, encodingCodeOf(dataType))
    this.#bytes = Buffer.from(this.#module.memory.buffer)
  }

  /**
   * Measures a chunk of complete rows. A malformed row ends measuring, because the profile could otherwise show
   * bytes of other rows.
   */
  add(chunk: Uint8Array): void {
    if (this.#isMalformed) return
    const { IN, IN_BYTES, measureRows } = this.#module
    if (chunk.length > IN_BYTES.value) {
      this.#isMalformed = !this.#addLongRows(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length))
      return
    }
    this.#bytes.set(chunk, IN.value)
    this.#isMalformed = measureRows(chunk.length) === 0
  }

  /**
   * Returns the profile of all rows until now, or undefined if one was malformed. `names` are the columns' names in
   * order.
   */
  profile(names: readonly Pick<Column, 'name'>[]): RowsProfile | undefined {
    if (this.#isMalformed) return undefined
    const rows = Number(this.#module.rows.value)
    const sample = openSample(this.#module, this.#bytes)
    const columns = this.#types.map((type, column): ColumnProfile => {
      const measured = { module: this.#module, bytes: this.#bytes, column, type, rows, sample: sample.nextColumn() }
      return { column: names[column]!.name, ...profileColumn(measured) }
    })
    return { rows, columns }
  }

  [Symbol.dispose](): void {
    if (!this.#isReturned) releaseProfilerModule(this.#module)
    this.#isReturned = true
  }

  /** Measures rows that may be longer than the module's input area. Returns false at a malformed row. */
  #addLongRows(rows: Buffer): boolean {
    const { startRow, endRow, addNull, addValue, IN, IN_BYTES } = this.#module
    for (let position = 0; position < rows.length; ) {
      if (position + 2 > rows.length) return false
      const columnCount = rows.readUInt16BE(position)
      if (columnCount !== this.#types.length) return false
      position += 2
      startRow(columnCount)
      for (let column = 0; column < columnCount; column++) {
        if (position + 4 > rows.length) return false
        const length = rows.readInt32BE(position)
        position += 4
        if (length > rows.length - position) return false
        if (length < 0) addNull(column)
        else if (length > IN_BYTES.value) this.#addLongText(column, rows.subarray(position, position + length))
        else {
          rows.copy(this.#bytes, IN.value, position, position + length)
          if (addValue(column, length) === 0) return false
        }
        position += Math.max(0, length)
      }
      endRow()
    }
    return true
  }

  #addLongText(column: number, text: Buffer): void {
    const { IN, PIECE_BYTES, startText, addPiece, endText } = this.#module
    for (let from = 0; from < text.length; from += PIECE_BYTES.value) {
      const length = text.copy(this.#bytes, IN.value, from, from + PIECE_BYTES.value)
      if (from === 0) startText()
      addPiece(length)
    }
    endText(column, text.length)
  }
}
