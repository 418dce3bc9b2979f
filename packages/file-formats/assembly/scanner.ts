export {
  IN, IN_BYTES, OUT, OUT_BYTES, POWERS, COLUMNS, COLUMN_BYTES, FIELDS, FIELD_BYTES, NULL_TEXTS, NULL_TEXTS_BYTES, SUFFIX, SUFFIX_BYTES,
} from './memory-layout'
export { resetColumns } from './column-state'
export { setNullTexts, isNullText } from './null-texts'
export { setDecimal } from './read-number'
export { inferType } from './infer-column-type'
export { resetUnconfirmedColumns } from './unconfirmed-column-types'
export { lines, rows, scan, setRecordShape, stoppedAt } from './scan-records'
export { clearOutput, hasOutputSpace, outEnd, configureOutput, processRecord } from './process-record'
export { unfitColumn, setSuffix } from './encode-record'
