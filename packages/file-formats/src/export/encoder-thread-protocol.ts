import type { ExportedColumn } from './exported-column.ts'

export type EncodedFormat = 'PARQUET' | 'ARROW' | 'XLSX'

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
