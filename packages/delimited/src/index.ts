export { detectDialect } from './dialect/detect.ts'
export type { Detected, Dialect, Guess, Guesses } from './dialect/dialect.ts'
export {
  type ColumnOptions,
  dateFormats,
  type DelimitedOptions,
  type Delimiter,
  delimiters,
} from './dialect/options.ts'
export type { ReadableFile } from './dialect/sample.ts'
export { describeGuesses } from './dialect/words.ts'
export type { Grammar } from './grammar.ts'
export type { ColumnType } from './infer.ts'
export { defaultLimits, type Limits } from './limits.ts'
export { type Batch, encode, type InspectedColumn, type Inspection, inspect, type Tell } from './passes.ts'
export { DelimitedProblem } from './problem.ts'
export type { RejectedRow } from './reject.ts'
export { type Encoding, TextFile } from './text-file.ts'
