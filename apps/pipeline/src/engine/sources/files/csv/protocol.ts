import type { ProblemMessage } from '../../reading-thread.ts'
import type {
  ColumnProfile,
  DelimitedOptions,
  TextEncodingName,
  DelimitedLimits,
  InferredColumn,
  RejectedRow,
  RememberedDialect,
  StoredType,
} from '@sluice/delimited'

export interface CsvJob {
  /** A path, or the descriptor of a file that is open in this process. */
  file: string | number
  fileName: string
  options: DelimitedOptions
  limits: DelimitedLimits
  /** Look for the odd values that made a column TEXT, after all rows are written. */
  reportOddValues?: boolean
}

/** What the thread is told: to write all rows, from the start; or that nobody reads a chunk's memory any more. */
export type CsvCommand =
  | { kind: 'ENCODE'; types: readonly StoredType[] }
  | { kind: 'FREE'; memory: ArrayBuffer; writing: number }

/** Counts since the writing began, ready to be reported. */
export interface CsvTotals {
  bytesRead: number
  bytesTotal: number
  rowsRead: number
}

/** What was guessed, before any row is written. */
export interface OpenedFile {
  columns: InferredColumn[]
  /** What the options call the columns, where they do. */
  names: (string | undefined)[]
  encoding: TextEncodingName
  /** In words: part of a sentence, and sentences. */
  guesses: string
  notes: string[]
  /** For the next file of the same table. */
  reading: FileReading
  size: number
}

/** The dialect with which a file was read, as options. */
export type FileReading = Pick<RememberedDialect, 'delimiter' | 'quote' | 'escape' | 'headerRow' | 'decimal'>

/** What the thread says. The memory of a chunk is handed over with it; `writing` counts how often it was told to ENCODE. */
export type CsvMessage =
  | { kind: 'progress'; totals: CsvTotals }
  | { kind: 'opened'; opened: OpenedFile }
  | { kind: 'chunk'; memory: ArrayBuffer; length: number; rejected: RejectedRow[]; writing: number }
  | { kind: 'done'; columns: InferredColumn[]; profiles: ColumnProfile[]; oddValues: string[] }
  | { kind: 'widened'; columns: InferredColumn[] }
  | ProblemMessage
