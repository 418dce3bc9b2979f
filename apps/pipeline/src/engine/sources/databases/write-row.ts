import type { RowEncoder } from '@sluice/tuples'
import type { TupleSink } from './tuple-sink.ts'

/** Writes a row of values, or sets it aside. False when no more are wanted for now. */
export function writeRow(encoder: RowEncoder, sink: TupleSink, row: readonly unknown[]): boolean {
  if (encoder.write(row)) return sink.rowDone()
  const { column, reason } = encoder.fault!
  return sink.reject(column, `The value ${reason}.`, rawRow(row))
}

function rawRow(row: readonly unknown[]): string {
  return JSON.stringify(row, (_key, value: unknown) => {
    if (typeof value === 'bigint') return String(value)
    return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value
  })
}
