import type { RowEncoder } from '@sluice/tuples'
import { rawLength, type TupleSink } from './tuple-sink.ts'

/** Writes a row of values, or sets it aside. False when no more are wanted for now. */
export function writeRow(encoder: RowEncoder, sink: TupleSink, row: readonly unknown[]): boolean {
  if (encoder.write(row)) return sink.rowDone()
  const { column, reason } = encoder.fault!
  return sink.reject(column, `The value ${reason}.`, rawRow(row))
}

/** Returns the row as JSON for the list of rejected rows, with long values cut. */
export function rawRow(row: readonly unknown[]): string {
  return JSON.stringify(row.map(cut), (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}

function cut(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, rawLength)
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value.subarray(0, rawLength)).toString('hex')}`
  return value
}
