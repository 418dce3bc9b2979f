import type { DataType } from '@sluice/contracts'

/**
 * A column of an export. `precision` and `scale` belong to DECIMAL. A decimal without them may have any number of
 * digits.
 */
export interface ExportedColumn {
  name: string
  dataType: DataType
  precision?: number | undefined
  scale?: number | undefined
  /** The format in which `SOURCE_FORMAT_CSV` prints the values. Absent: as they are. */
  sourceFormat?: string | undefined
}

/** A value as text, as in the CSV of `QueryRunner.exportRows`; null for NULL. */
export type CellText = string | null

/** Encodes rows as a file, part by part. */
export interface FileEncoder {
  /**
   * Adds rows and returns the bytes that are then complete. `columns` contains the values of each column; all columns
   * have the same length.
   */
  write(columns: readonly (readonly CellText[])[]): Uint8Array[]
  end(): Uint8Array[]
}

/** The format cannot store a value, or not this many rows or columns. The message is for users. */
export class UnencodableValueError extends Error {
  override readonly name = 'UnencodableValueError'
}

/** SOURCE_FORMAT_CSV is CSV with the values in the source formats of their columns. */
export type EncodedFormat = 'PARQUET' | 'ARROW' | 'XLSX' | 'SOURCE_FORMAT_CSV'

/** The `workerData` of an encoder thread, which encodes one file. */
export interface EncoderJob {
  format: EncodedFormat
  columns: readonly ExportedColumn[]
  /** The bytes of CSV that become one row group or record batch. */
  batchBytes: number
}

/** Commands to the thread: parts of the CSV in order, without its header, and the end. */
export type EncoderCommand = { kind: 'rows'; bytes: Uint8Array } | { kind: 'end' }

/** Messages from the thread. For each command `rows`, it sends `ready` when it can take the next one. */
export type EncoderMessage =
  | { kind: 'bytes'; memory: ArrayBuffer }
  | { kind: 'ready' }
  | { kind: 'end' }
  | { kind: 'problem'; message: string }
