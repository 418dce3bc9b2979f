export { daysFrom2000, isDay, momentOf, writeMicroseconds, type Moment } from './calendar.ts'
export { checkJson, writeJson } from './json.ts'
export { Misfit } from './tuple-buffer.ts'
export { NumericText } from './numeric.ts'
export { RowEncoder, type Nulled, type RowColumn, type RowFault } from './rows.ts'
export { textOf } from './rows-text.ts'
export { checkDecimal, valueWriter, writeMoment, type WriteValue } from './rows-writers.ts'
export { readTime } from './calendar.ts'
export {
  maxRowBytes,
  maxValueBytes,
  rowTooLong,
  TupleBuffer,
  type TupleBufferOptions,
  valueTooLong,
} from './tuple-buffer.ts'
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
} from './columns.ts'
export { decimalText, timeText, vectorText } from './columns-text.ts'
export { TupleEncoder, type ChunkSink } from './columns-encoder.ts'
