export {
  daysSince2000,
  epochDays,
  epochMicroseconds,
  isDay,
  type TimestampParts,
  convertDate,
  parseTimeText,
  writeMicroseconds,
} from './copy-binary/date-and-time-encoding.ts'
export * from './copy-binary/column-vectors.ts'
export { checkJson } from './copy-binary/jsonb-field.ts'
export { NumericText } from './copy-binary/numeric-text.ts'
export {
  checkDecimal,
  type NulledCounts,
  type RowColumn,
  RowEncoder,
  type RowFault,
  toText,
  valueWriter,
  writeTimestampField,
} from './copy-binary/row-encoder.ts'
export {
  maxRowBytes,
  maxValueBytes,
  UnstorableValue,
  rowTooLong,
  TupleBuffer,
  type TupleBufferOptions,
  valueTooLong,
} from './copy-binary/tuple-buffer.ts'
export { type ChunkSink, TupleEncoder } from './copy-binary/vector-encoder.ts'
export { dateText, decimalText, floatText, timestampText, timeText, vectorText } from './copy-binary/vector-text.ts'
export { quoteCsvField } from './csv-field.ts'
export * from './identifiers.ts'
export * from './log-formatting.ts'
export { TableProfiler, type RowsProfile } from './profile/table-profiler.ts'
export { formatNumeric } from './profile/format-values.ts'
export * from './reader-thread/reading-thread.ts'
export * from './reader-thread/idle-thread-pool.ts'
export * from './rejected-rows.ts'
export * from './row-stream.ts'
export * from './source-problem.ts'
