import type { DataType } from '@sluice/contracts'

/** A column of an export. `precision` and `scale` belong to DECIMAL; a decimal without them has any number of digits. */
export interface ExportedColumn {
  name: string
  dataType: DataType
  precision?: number | undefined
  scale?: number | undefined
  /** The form in which `PRINTED_CSV` prints the values. Absent: as they are. */
  printedForm?: string | undefined
}

/** A value as text, as `QueryRunner.exportRows` writes it in CSV; null for NULL. */
export type CellText = string | null

/** Turns rows into a file, part by part. */
export interface FileEncoder {
  /** Returns the bytes that are complete after these rows. `columns` has the values of each column, all of the same length. */
  write(columns: readonly (readonly CellText[])[]): Uint8Array[]
  end(): Uint8Array[]
}

/** The format cannot store a value, or cannot store this many rows or columns. The message is for users. */
export class UnencodableValueError extends Error {
  override readonly name = 'UnencodableValueError'
}

/** PRINTED_CSV is CSV with the values in the printed forms of their columns. */
export type EncodedFormat = 'PARQUET' | 'ARROW' | 'XLSX' | 'PRINTED_CSV'

/** The `workerData` of a thread, which encodes one file. */
export interface EncoderJob {
  format: EncodedFormat
  columns: readonly ExportedColumn[]
  /** Bytes of CSV that become one row group or record batch. */
  batchBytes: number
}

/** Commands to the thread: CSV without its header, in order. */
export type EncoderCommand = { kind: 'rows'; bytes: Uint8Array } | { kind: 'end' }

/** Messages of the thread. It sends `ready` for each command `rows`, when it can take the next one. */
export type EncoderMessage =
  | { kind: 'bytes'; memory: ArrayBuffer }
  | { kind: 'ready' }
  | { kind: 'end' }
  | { kind: 'problem'; message: string }
