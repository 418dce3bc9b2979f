export {
  IN, IN_BYTES, OUT, OUT_BYTES, POWERS, COLUMNS, COLUMN_BYTES, FIELDS, FIELD_BYTES, NULLS, NULLS_BYTES,
  PROFILES, PROFILE_BYTES, REGISTERS, REGISTER_COUNT,
} from './layout'
export { forgetColumns } from './columns'
export { setNulls, spellsNull } from './nulls'
export { setDecimal } from './numbers'
export { columnType } from './type-of'
export { openColumns } from './open'
export { lines, rows, scan, setShape, stoppedAt } from './scan'
export { emptyOut, hasRoom, outEnd, setUse, take } from './take'
export { blamed } from './encode'
export { forgetProfiles, profile, setProfile } from './profile'
