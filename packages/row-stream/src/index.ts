export { daysFrom2000, isDay, momentOf, writeMicroseconds, type Moment } from './tuples/calendar.ts'
export { checkJson, writeJson } from './tuples/json.ts'
export { Misfit } from './tuples/tuple-buffer.ts'
export { NumericText } from './tuples/numeric.ts'
export { RowEncoder, type Nulled, type RowColumn, type RowFault } from './tuples/rows.ts'
export { textOf } from './tuples/rows-text.ts'
export { checkDecimal, valueWriter, writeMoment, type WriteValue } from './tuples/rows-writers.ts'
export { readTime } from './tuples/calendar.ts'
export {
  maxRowBytes,
  maxValueBytes,
  rowTooLong,
  TupleBuffer,
  type TupleBufferOptions,
  valueTooLong,
} from './tuples/tuple-buffer.ts'
export {
  emptyVector,
  unscaledOf,
  wholeOf,
  type BooleanVector,
  type BytesVector,
  type ColumnVector,
  type DateVector,
  type DecimalVector,
  type FloatingVector,
  type IntegerVector,
  type TimestampVector,
  type VectorKind,
} from './tuples/columns.ts'
export { decimalText, timeText, vectorText } from './tuples/columns-text.ts'
export { TupleEncoder, type ChunkSink } from './tuples/columns-encoder.ts'
export * from './empty-feed.ts'
export * from './identifiers.ts'
export * from './log-text.ts'
export * from './reader-advice.ts'
export * from './reader-thread/reading-thread.ts'
export * from './reader-thread/spare-thread.ts'
export * from './row-stream.ts'
export * from './tolerated-rejects.ts'
