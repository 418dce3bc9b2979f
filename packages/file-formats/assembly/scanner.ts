export {
  IN, IN_BYTES, OUT, OUT_BYTES, POWERS, COLUMNS, COLUMN_BYTES, FIELDS, FIELD_BYTES, NULLS, NULLS_BYTES, SUFFIX, SUFFIX_BYTES,
} from './memory-layout'
export { forgetColumns } from './column-state'
export { setNulls, spellsNull } from './null-spellings'
export { setDecimal } from './parse-number'
export { columnType } from './column-type'
export { openColumns } from './unconfirmed-columns'
export { lines, rows, scan, setShape, stoppedAt } from './scan-records'
export { emptyOut, hasRoom, outEnd, setUse, take } from './process-record'
export { blamed, setSuffix } from './encode-record'
