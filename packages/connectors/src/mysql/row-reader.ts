import type { ReadNote } from '../database-connector/database-session.ts'
import { formatCount, UnstorableValue, type StoredType } from '@sluice/row-stream'
import { type TupleSink, formatRawRow } from '../database-connector/tuple-sink.ts'
import { type CellReader, createCellReader } from './cell-readers.ts'
import type { MysqlField } from './columns.ts'
import { PacketCursor } from './packet-cursor.ts'

const packetHeader = 1
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
  readonly #nulls: number
  readonly #cursor = new PacketCursor()

  constructor(fields: readonly MysqlField[], labels: readonly string[], types: readonly StoredType[], sink: TupleSink) {
    if (fields.length !== types.length)
      throw new Error(`${fields.length} columns arrived, but ${types.length} were described`)
    this.#cells = fields.map((field, index) => createCellReader(field, types[index]!))
    this.#labels = labels
    this.#sink = sink
    this.#nulls = (fields.length + firstNullBit + 7) >> 3
  }

  /** Reads a row from its packet. Returns false if the sink requests a pause. */
  take(bytes: Buffer, from: number, to: number): boolean {
    const cursor = this.#cursor
    const cells = this.#cells
    const { buffer } = this.#sink
    const nullBitmap = from + packetHeader
    cursor.start(bytes, nullBitmap + this.#nulls, to)
    buffer.beginRow(cells.length)
    let index = 0
    try {
      for (; index < cells.length; index++) {
        const nullBit = index + firstNullBit
        if ((bytes[nullBitmap + (nullBit >> 3)]! >> (nullBit & 7)) & 1) buffer.writeNull()
        else cells[index]!.write(cursor, buffer)
      }
    } catch (error) {
      if (!(error instanceof UnstorableValue)) throw error
      buffer.dropRow()
      return this.#sink.reject(this.#labels[index], `The value ${error.message}.`, this.#raw(bytes, from, to))
    }
    return this.#sink.finishRow()
  }

  notes(): ReadNote[] {
    return this.#cells.flatMap(({ nulled }, index) =>
      nulled.zeroDates === 0
        ? []
        : [
            {
              level: 'WARN',
              message: `${formatCount(nulled.zeroDates, 'date')} in "${this.#labels[index]}" with a zero as year, month or day became null.`,
            },
          ],
    )
  }

  #raw(bytes: Buffer, from: number, to: number): string {
    const nulls = from + packetHeader
    this.#cursor.start(bytes, nulls + this.#nulls, to)
    const values = this.#cells.map(({ read }, index) => {
      const bit = index + firstNullBit
      return (bytes[nulls + (bit >> 3)]! >> (bit & 7)) & 1 ? null : read(this.#cursor)
    })
    return formatRawRow(values)
  }
}
