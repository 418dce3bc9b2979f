import type { ProblemMessage } from '@sluice/row-stream'
import type {
  ColumnProfile,
  DelimitedOptions,
  TextEncodingName,
  DelimitedLimits,
  InferredColumn,
  RejectedRow,
  RememberedDialect,
  StoredType,
} from '../delimited/delimited.ts'

export interface CsvJob {
  /** A path, or the descriptor of an open file of this process. */
  file: string | number
  fileName: string
  options: DelimitedOptions
  limits: DelimitedLimits
  /** Look for the odd values that made a column TEXT, after all rows are written. */
  reportOddValues?: boolean
}

/** Commands to the thread: write all rows from the start, or reuse the memory of a chunk. */
export type CsvCommand =
  | { kind: 'ENCODE'; types: readonly StoredType[] }
  | { kind: 'FREE'; memory: ArrayBuffer; writing: number }

/** Reportable counts since the start of the writing. */
export interface CsvTotals {
  bytesRead: number
  bytesTotal: number
  rowsRead: number
}

/** The detected settings, sent before any row is written. */
export interface OpenedFile {
  columns: InferredColumn[]
  /** The column names from the options, if given. */
  names: (string | undefined)[]
  encoding: TextEncodingName
  /** Text for users: part of a sentence, and sentences. */
  guesses: string
  notes: string[]
  /** Settings for the next file of the same table. */
  reading: FileReading
  size: number
}

/** The dialect with which a file was read, as options. */
export type FileReading = Pick<RememberedDialect, 'delimiter' | 'quote' | 'escape' | 'headerRow' | 'decimal'>

/** Messages of the thread. A chunk message transfers the memory of the chunk; `writing` counts the ENCODE commands. */
export type CsvMessage =
  | { kind: 'progress'; totals: CsvTotals }
  | { kind: 'opened'; opened: OpenedFile }
  | { kind: 'chunk'; memory: ArrayBuffer; length: number; rejected: RejectedRow[]; writing: number }
  | { kind: 'done'; columns: InferredColumn[]; profiles: ColumnProfile[]; oddValues: string[] }
  | { kind: 'widened'; columns: InferredColumn[] }
  | ProblemMessage
