import type { DataType } from '@sluice/contracts'
import { type WarehouseTypes, widenTypes } from '../shape/widen-types.ts'
import type { SqlType, DialectTypes } from '../sql-warehouse/sql-dialect.ts'
import type { StoredType } from '../warehouse.ts'

/** The maximum length of a text column, in bytes. */
export const longestText = 65_535
const textType = (bytes: number): SqlType => `character varying(${bytes})`
const longText = textType(longestText)
/** The type for a decimal of unknown size: 18 digits before and 20 after the decimal point. */
export const anyDecimal: SqlType = 'numeric(38,20)'
const maxPrecision = 38

/**
 * Redshift types by data type. The server counts text lengths in bytes, up to four per character. JSON is stored as
 * text, because the type SUPER changes its spelling.
 */
const typesByDataType: Record<DataType, SqlType> = {
  SMALLINT: 'smallint',
  INTEGER: 'integer',
  BIGINT: 'bigint',
  DECIMAL: anyDecimal,
  FLOAT: 'real',
  DOUBLE: 'double precision',
  BOOLEAN: 'boolean',
  CHARACTER_11: textType(44),
  VARCHAR_50: textType(200),
  VARCHAR_255: textType(1_020),
  TEXT: longText,
  DATE: 'date',
  TIMESTAMP: 'timestamp without time zone',
  TIMESTAMPTZ: 'timestamp with time zone',
  GEOMETRY: longText,
  GEOMETRY_POINT: longText,
  JSONB: longText,
}

/** Returns the type of a decimal. A decimal with more digits than the server supports is stored as text. */
function decimalType(precision: number, scale: number): SqlType {
  return precision > maxPrecision ? longText : `numeric(${precision},${scale})`
}

/**
 * Returns the numbers in the parentheses of a type: the precision and scale of a decimal, or the length of a text.
 * Empty for a type without numbers.
 */
export function parseTypeModifiers(type: SqlType): number[] {
  return (/\(([\d,]+)\)/.exec(type)?.[1] ?? '').split(',').filter(Boolean).map(Number)
}

const isText = (type: SqlType): boolean => type.startsWith('character') || type === 'text'

export const redshiftTypes: DialectTypes = {
  longText,
  isText,
  sqlType({ dataType, precision, scale = 0 }) {
    if (dataType !== 'DECIMAL' || precision === undefined) return typesByDataType[dataType]
    return scale < 0 || scale > precision ? anyDecimal : decimalType(precision, scale)
  },
  describe(type): StoredType {
    if (type === anyDecimal) return { dataType: 'DECIMAL' }
    const [precision, scale = 0] = parseTypeModifiers(type)
    if (type.startsWith('numeric')) return { dataType: 'DECIMAL', ...(precision !== undefined && { precision, scale }) }
    if (type === 'super') return { dataType: 'JSONB' }
    const entry = Object.entries(typesByDataType).find(([, sql]) => sql === type && !isText(sql))
    return { dataType: (entry?.[0] as DataType | undefined) ?? 'TEXT' }
  },
  widest: (one, other) => widenTypes(redshiftTypeFamilies, one, other),
}

const redshiftTypeFamilies: WarehouseTypes = {
  integers: { smallint: 5, integer: 10, bigint: 19 },
  times: ['date', 'timestamp without time zone', 'timestamp with time zone'],
  singleFloat: 'real',
  doubleFloat: 'double precision',
  readDecimal: (type) => (type.startsWith('numeric(') ? parseTypeModifiers(type) : []) as [number?, number?],
  decimal: decimalType,
  anyNumber: longText,
  widerText(one, other) {
    if (!isText(one) || !isText(other)) return undefined
    const lengthOf = (type: SqlType) => parseTypeModifiers(type)[0] ?? longestText
    return textType(Math.max(lengthOf(one), lengthOf(other)))
  },
  text: longText,
}
