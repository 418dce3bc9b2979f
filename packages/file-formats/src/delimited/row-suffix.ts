import type { WasmScanner } from './wasm-scanner.ts'

/** Fields that the scanner writes at the end of every row, encoded as in binary COPY. One of them is the number of the row, from 1. */
export interface RowSuffix {
  /** The number of fields in `bytes`. */
  fields: number
  bytes: Uint8Array
  /** The position in `bytes` of the row number, a BIGINT. */
  rowNumberAt: number
}

/** Sets the fields at the end of the next rows. Without a suffix, rows have only the fields of their records. */
export function setRowSuffix({ run, bytes }: WasmScanner, suffix: RowSuffix | undefined): void {
  if (!suffix) return run.setSuffix(0, 0, 0)
  if (suffix.bytes.length > run.SUFFIX_BYTES.value) throw new Error('The fields at the end of a row are too long')
  bytes.set(suffix.bytes, run.SUFFIX.value)
  run.setSuffix(suffix.fields, suffix.bytes.length, suffix.rowNumberAt)
}
