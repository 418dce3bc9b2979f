export { detectDialect } from './dialect/detect.ts'
export type { Detected, Dialect, Guess, Guesses } from './dialect/dialect.ts'
export {
  type ColumnOptions,
  dateFormats,
  type DelimitedOptions,
  type Delimiter,
  delimiters,
  type Remembered,
} from './dialect/options.ts'
export type { ReadableFile } from './dialect/sample.ts'
export { describeGuesses } from './dialect/words.ts'
export type { Grammar } from './grammar.ts'
export type { ColumnProfile } from './column-profile.ts'
export { type ColumnType, isDayFirst, type StoredType } from './column-type.ts'
export { defaultLimits, type Limits } from './limits.ts'
export { startMachine } from './machine.ts'
export { describeOddValue, type OddValue } from './odd-values.ts'
export type { Batch } from './pass.ts'
export { type Preview, type PreviewColumn, type PreviewFile, previewRows } from './preview.ts'
export { DelimitedProblem } from './problem.ts'
export { type Outcome, type ReadColumn, Reading, type Tell } from './reading.ts'
export type { RejectedRow } from './reject.ts'
export { detectText } from './rows.ts'
export { type Encoding, TextFile, type TextSource } from './text-file.ts'
