export { detectDialect } from './dialect/detect-dialect.ts'
export type { DetectedDialect, DelimitedDialect, DetectedValue, DetectedOptions } from './dialect/dialect.ts'
export {
  type ColumnOptions,
  dateFormats,
  type DelimitedOptions,
  type DelimiterName,
  delimiters,
  type RememberedDialect,
} from './dialect/delimited-options.ts'
export type { ReadableFile } from './dialect/sample.ts'
export { describeGuesses } from './dialect/detection-notes.ts'
export type { Grammar } from './grammar.ts'
export type { ColumnProfile } from './column-profile.ts'
export { type ColumnType, isDayFirst, type StoredType } from './column-type.ts'
export { defaultDelimitedLimits, type DelimitedLimits } from './limits.ts'
export { startScanner } from './wasm-scanner.ts'
export { describeOddValue, type OddValue } from './odd-values.ts'
export type { TupleBatch } from './record-pass.ts'
export { type DelimitedPreview, type PreviewColumn, type PreviewFile, previewRows } from './preview.ts'
export { DelimitedProblem } from './problem.ts'
export {
  type EncodingOutcome,
  type InferredColumn,
  DelimitedReader,
  type ProgressListener,
} from './delimited-reader.ts'
export type { RejectedRow } from './rejected-row.ts'
export { detectText } from './open-rows.ts'
export { type TextEncodingName, TextFile, type TextSource } from './text-file.ts'
