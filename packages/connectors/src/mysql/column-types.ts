import mysql2 from 'mysql2'
import type { StoredType } from '@sluice/row-stream'

/**
 * Type numbers of the MySQL protocol. The package exports them only to CommonJS, so they are read from the default
 * export.
 */
export const { Types } = mysql2

/** A column description from the server. `columnLength` is in bytes; `characterSet` 63 means binary data. */
export interface MysqlField {
  name: string
  columnType: number
  columnLength: number
  characterSet: number
  flags: number
  decimals: number
  /** `json` for a JSON column of MariaDB. MySQL does not send this field. */
  extendedFormat?: string
}

const primaryKeyFlag = 0x02
const unsignedFlag = 0x20
const binaryCharacterSet = 63

export const isPrimaryKey = ({ flags }: MysqlField): boolean => (flags & primaryKeyFlag) !== 0
export const isUnsigned = ({ flags }: MysqlField): boolean => (flags & unsignedFlag) !== 0
export const isBinary = ({ characterSet }: MysqlField): boolean => characterSet === binaryCharacterSet
export const isJson = ({ columnType, extendedFormat }: MysqlField): boolean =>
  columnType === Types.JSON || extendedFormat === 'json'

/** True if the query must convert the column to text, because its binary format is not useful to users. */
export const needsTextConversion = ({ columnType }: MysqlField): boolean => columnType === Types.GEOMETRY

/** The type for unsigned 64-bit integers, which range up to 18446744073709551615. */
const unsigned64: StoredType = { dataType: 'DECIMAL', precision: 20, scale: 0 }

/**
 * Returns the column type of a field. Ignores the display width: TINYINT(1) becomes SMALLINT, because the server does
 * not report whether it was declared as BOOLEAN.
 */
export function mysqlColumnType(field: MysqlField): StoredType {
  switch (field.columnType) {
    case Types.TINY:
    case Types.YEAR:
      return { dataType: 'SMALLINT' }
    case Types.SHORT:
      return { dataType: isUnsigned(field) ? 'INTEGER' : 'SMALLINT' }
    case Types.INT24:
      return { dataType: 'INTEGER' }
    case Types.LONG:
      return { dataType: isUnsigned(field) ? 'BIGINT' : 'INTEGER' }
    case Types.LONGLONG:
      return isUnsigned(field) ? unsigned64 : { dataType: 'BIGINT' }
    case Types.FLOAT:
      return { dataType: 'FLOAT' }
    case Types.DOUBLE:
      return { dataType: 'DOUBLE' }
    case Types.DECIMAL:
    case Types.NEWDECIMAL:
      return toDecimalType(field)
    case Types.DATE:
    case Types.NEWDATE:
      return { dataType: 'DATE' }
    case Types.DATETIME:
      return { dataType: 'TIMESTAMP' }
    case Types.TIMESTAMP:
      return { dataType: 'TIMESTAMPTZ' }
    case Types.BIT:
      if (field.columnLength === 1) return { dataType: 'BOOLEAN' }
      return field.columnLength < 64 ? { dataType: 'BIGINT' } : unsigned64
    default:
      return { dataType: isJson(field) ? 'JSONB' : 'TEXT' }
  }
}

/** Returns the type with its precision and scale, or without them if the server's description is contradictory. */
function toDecimalType(field: MysqlField): StoredType {
  const scale = field.decimals
  // The column length counts the decimal point and the sign too.
  const pointLength = scale > 0 ? 1 : 0
  const signLength = isUnsigned(field) ? 0 : 1
  const precision = field.columnLength - pointLength - signLength
  const isValid = precision >= scale && precision > 0
  return isValid ? { dataType: 'DECIMAL', precision, scale } : { dataType: 'DECIMAL' }
}
