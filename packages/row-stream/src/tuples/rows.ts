import type { DataType } from '@sluice/contracts'
import { Misfit, type TupleBuffer } from './tuple-buffer.ts'
import { valueWriter, type WriteValue } from './rows-writers.ts'

/** The storage type of a column, and its label. */
export interface RowColumn {
  label: string
  dataType: DataType
  precision?: number
  scale?: number
}

/** The reason why the last row was not written. */
export interface RowFault {
  column: string
  reason: string
}

/** Counts values that could only be stored as null: dates with a zero part, by column. */
export interface Nulled {
  zeroDates: number
}

/**
 * Rows of JavaScript values, in the order of the columns, as tuples of binary COPY. Exact: a decimal comes as text, a
 * whole number as number, bigint or text, a time as text or Date (which may have `nanosecondsDelta`, seconds beyond its
 * milliseconds), bytes as Uint8Array, JSON as text or an object. What has no place in its column is a fault, not an error.
 */
export class RowEncoder {
  readonly nulled: Nulled[]
  fault: RowFault | undefined
  readonly #columns: readonly RowColumn[]
  readonly #writers: WriteValue[]
  readonly #buffer: TupleBuffer

  constructor(columns: readonly RowColumn[], buffer: TupleBuffer) {
    this.#columns = columns
    this.#buffer = buffer
    this.nulled = columns.map(() => ({ zeroDates: 0 }))
    this.#writers = columns.map((column, index) => valueWriter(column, this.nulled[index]!))
  }

  /** False when the row does not fit: `fault` says why, and the buffer is as it was. */
  write(values: readonly unknown[]): boolean {
    const buffer = this.#buffer
    const writers = this.#writers
    buffer.beginRow(writers.length)
    let index = 0
    try {
      for (; index < writers.length; index++) {
        const value = values[index]
        if (value === null || value === undefined) buffer.writeNull()
        else writers[index]!(value, buffer)
      }
      return true
    } catch (error) {
      if (!(error instanceof Misfit)) throw error
      buffer.dropRow()
      this.fault = { column: this.#columns[index]!.label, reason: error.message }
      return false
    }
  }
}
