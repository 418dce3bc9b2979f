import oracledb from 'oracledb'
import type { StoredType } from '@sluice/row-stream'
import { type FilterSyntax, formatNumber } from '../database-connector/increments/row-filter.ts'

/** The driver's description of a query column. */
export type OracleField = Pick<oracledb.Metadata<object>, 'name' | 'dbType' | 'precision' | 'scale'>

/**
 * The scale that the driver reports for NUMBER without a precision. FLOAT has the same scale, but a precision in bits.
 */
const floatingScale = -127

/** Returns the column type for an Oracle type. Types that are not listed become text. */
export function oracleColumnType({ dbType, precision = 0, scale = 0 }: OracleField): StoredType {
  switch (dbType) {
    case oracledb.DB_TYPE_NUMBER:
      return toNumberType(precision, scale)
    case oracledb.DB_TYPE_BINARY_INTEGER:
      return { dataType: 'INTEGER' }
    case oracledb.DB_TYPE_BINARY_FLOAT:
      return { dataType: 'FLOAT' }
    case oracledb.DB_TYPE_BINARY_DOUBLE:
      return { dataType: 'DOUBLE' }
    case oracledb.DB_TYPE_DATE:
    case oracledb.DB_TYPE_TIMESTAMP:
      return { dataType: 'TIMESTAMP' }
    case oracledb.DB_TYPE_TIMESTAMP_TZ:
    case oracledb.DB_TYPE_TIMESTAMP_LTZ:
      return { dataType: 'TIMESTAMPTZ' }
    case oracledb.DB_TYPE_BOOLEAN:
      return { dataType: 'BOOLEAN' }
    case oracledb.DB_TYPE_JSON:
      return { dataType: 'JSONB' }
    default:
      return { dataType: 'TEXT' }
  }
}

/** The maximum digits that always fit into these types. */
const maxSmallintDigits = 4
const maxIntegerDigits = 9
const maxBigintDigits = 18

/** Returns the narrowest type that stores all numbers with this precision and scale. */
function toNumberType(precision: number, scale: number): StoredType {
  const isFloating = scale === floatingScale || precision === 0
  const isUnsupportedScale = scale < 0 || scale > precision
  if (isFloating || isUnsupportedScale) return { dataType: 'DECIMAL' }
  if (scale > 0 || precision > maxBigintDigits) return { dataType: 'DECIMAL', precision, scale }
  if (precision <= maxSmallintDigits) return { dataType: 'SMALLINT' }
  return { dataType: precision <= maxIntegerDigits ? 'INTEGER' : 'BIGINT' }
}

const temporalTypes: ReadonlySet<unknown> = new Set([
  oracledb.DB_TYPE_DATE,
  oracledb.DB_TYPE_TIMESTAMP,
  oracledb.DB_TYPE_TIMESTAMP_TZ,
  oracledb.DB_TYPE_TIMESTAMP_LTZ,
])
const stringFetchTypes: ReadonlySet<unknown> = new Set([
  oracledb.DB_TYPE_NUMBER,
  oracledb.DB_TYPE_CLOB,
  oracledb.DB_TYPE_NCLOB,
  oracledb.DB_TYPE_VECTOR,
  ...temporalTypes,
])

/**
 * Returns the type in which the driver fetches a column. Values that the driver would round are fetched as text, and
 * large objects as their content instead of as handles.
 */
export function getFetchType({ dbType }: { dbType?: unknown }): { type: oracledb.DbType } | undefined {
  if (stringFetchTypes.has(dbType)) return { type: oracledb.DB_TYPE_VARCHAR }
  if (dbType === oracledb.DB_TYPE_BLOB) return { type: oracledb.DB_TYPE_RAW }
  return undefined
}

/** Returns the filter syntax for the columns of a statement. */
export const createFilterSyntax = (fields: readonly OracleField[]): FilterSyntax => ({
  column: (index) => quoteName(fields[index]!.name),
  literal(value, kind, index) {
    if (kind === 'NUMBER') return formatNumber(value)
    // The literal has the type DATE. A literal of another type would make Oracle convert the column, and then not use
    // its index.
    if (fields[index]!.dbType === oracledb.DB_TYPE_DATE)
      return `to_date('${value.slice(0, 19)}', 'YYYY-MM-DD HH24:MI:SS')`
    if (kind === 'TIMESTAMPTZ') return `to_timestamp_tz('${value} +00:00', 'YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM')`
    return `to_timestamp('${value}', 'YYYY-MM-DD HH24:MI:SS.FF9')`
  },
  falseLiteral: 'false',
})

/** Quotes a name. Removes quotation marks, which Oracle does not allow in names. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '')}"`

/** Returns the function that converts a column's fetched values, or undefined if they need no conversion. */
export function createValueConverter({ dbType }: OracleField): ((value: unknown) => unknown) | undefined {
  if (temporalTypes.has(dbType)) return (value) => (typeof value === 'string' ? value.trim() : value)
  if (dbType === oracledb.DB_TYPE_INTERVAL_DS || dbType === oracledb.DB_TYPE_INTERVAL_YM) return formatInterval
  return undefined
}

/**
 * Formats an interval in PostgreSQL's notation of ISO 8601, such as `P1Y2M` or `P3DT-4H`. `fseconds` contains the
 * nanoseconds. Returns other values unchanged.
 */
function formatInterval(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  const {
    years = 0,
    months = 0,
    days = 0,
    hours = 0,
    minutes = 0,
    seconds = 0,
    fseconds = 0,
  } = value as Record<string, number>
  const date = formatIntervalPart(years, 'Y') + formatIntervalPart(months, 'M') + formatIntervalPart(days, 'D')
  const hasSeconds = seconds !== 0 || fseconds !== 0
  const secondsSign = seconds < 0 || fseconds < 0 ? '-' : ''
  const fraction = fseconds === 0 ? '' : `.${String(Math.abs(fseconds)).padStart(9, '0').replace(/0+$/, '')}`
  const secondsText = hasSeconds ? `${secondsSign}${Math.abs(seconds)}${fraction}S` : ''
  const time = formatIntervalPart(hours, 'H') + formatIntervalPart(minutes, 'M') + secondsText
  if (date === '' && time === '') return 'PT0S'
  return time === '' ? `P${date}` : `P${date}T${time}`
}

const formatIntervalPart = (count: number, unit: string): string => (count === 0 ? '' : `${count}${unit}`)
