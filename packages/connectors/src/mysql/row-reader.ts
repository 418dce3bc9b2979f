import type { ReadNote } from '../database-connector/database-session.ts'
import { formatCount, UnstorableValue, type StoredType } from '@sluice/row-stream'
import { type TupleSink, formatRawRow } from '../database-connector/tuple-sink.ts'
import { type CellReader, createCellReader } from './cell-readers.ts'
import type { MysqlField } from './column-types.ts'
import { PacketCursor } from './packet-cursor.ts'

const packetHeaderBytes = 1
/** In a row's null bitmap, the first two bits are unused. */
const firstNullBit = 2

/**
 * Converts rows of MySQL's binary protocol to PostgreSQL's binary COPY format. See
 * https://mariadb.com/kb/en/resultset-row/#binary-resultset-row.
 */
export class RowReader {
  readonly #cells: CellReader[]
  readonly #labels: readonly string[]
  readonly #sink: TupleSink
  readonly #nullBitmapBytes: number
  readonly #cursor = new PacketCursor()

  constructor(fields: readonly MysqlField[], labels: readonly string[], types: readonly StoredType[], sink: TupleSink) {
    if (fields.length !== types.length)
      throw new Error(`${fields.length} columns arrived, but ${types.length} were described`)
    this.#cells = fields.map((field, index) => createCellReader(field, types[index]!))
    this.#labels = labels
    this.#sink = sink
    this.#nullBitmapBytes = Math.ceil((fields.length + firstNullBit) / 8)
  }

  /** Reads a row from its packet. Returns false if the sink requests a pause. */
  readRow(bytes: Buffer, from: number, to: number): boolean {
    const cursor = this.#cursor
    const cells = this.#cells
    const { buffer } = this.#sink
    const nullBitmap = from + packetHeaderBytes
    cursor.start(bytes, nullBitmap + this.#nullBitmapBytes, to)
    buffer.beginRow(cells.length)
    let index = 0
    try {
      for (; index < cells.length; index++) {
        if (isNull(bytes, nullBitmap, index)) buffer.writeNull()
        else cells[index]!.write(cursor, buffer)
      }
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error
      buffer.dropRow()
      return this.#sink.reject(this.#labels[index], `The value ${error.message}.`, this.#formatRow(bytes, from, to))
    }
    return this.#sink.finishRow()
  }

  /** Returns a note for each column with dates that became null. */
  listNotes(): ReadNote[] {
    const notes: ReadNote[] = []
    for (const [index, { nullCounts }] of this.#cells.entries()) {
      if (nullCounts.zeroDates === 0) continue
      const dates = formatCount(nullCounts.zeroDates, 'date')
      const message = `${dates} in "${this.#labels[index]}" with a zero as year, month or day became null.`
      notes.push({ level: 'WARN', message })
    }
    return notes
  }

  /** Formats a row for the list of rejected rows. */
  #formatRow(bytes: Buffer, from: number, to: number): string {
    const nullBitmap = from + packetHeaderBytes
    this.#cursor.start(bytes, nullBitmap + this.#nullBitmapBytes, to)
    const values = this.#cells.map(({ read }, index) => (isNull(bytes, nullBitmap, index) ? null : read(this.#cursor)))
    return formatRawRow(values)
  }
}

/** True if the bit of a column is set in the null bitmap, which starts at position `nullBitmap`. */
function isNull(bytes: Buffer, nullBitmap: number, column: number): boolean {
  const bit = column + firstNullBit
  return ((bytes[nullBitmap + (bit >> 3)]! >> (bit & 7)) & 1) === 1
}
