import mysql2 from 'mysql2'
import type { StoredType } from '@sluice/row-stream'

/** The protocol's type numbers; the package exports them to CommonJS only. */
export const { Types } = mysql2

/** A column as the server describes a statement's result. `columnLength` is in bytes, `characterSet` 63 means bytes. */
export interface MysqlField {
  name: string
  columnType: number
  columnLength: number
  characterSet: number
  flags: number
  decimals: number
  /** `json`; only MariaDB sends this. */
  extendedFormat?: string
}

const unsigned = 0x20
const bytes = 63

export const isUnsigned = ({ flags }: MysqlField): boolean => (flags & unsigned) !== 0
export const isBytes = ({ characterSet }: MysqlField): boolean => characterSet === bytes
export const isJson = ({ columnType, extendedFormat }: MysqlField): boolean =>
  columnType === Types.JSON || extendedFormat === 'json'

/** Whether users can read the value only as text that the database makes. */
export const needsText = ({ columnType }: MysqlField): boolean => columnType === Types.GEOMETRY

/** The type of an unsigned 64-bit integer: up to 18446744073709551615. */
const unsigned64: StoredType = { dataType: 'DECIMAL', precision: 20, scale: 0 }

/**
 * Returns the offered type of a column. The display width is not part of the type: TINYINT(1) is a small number, even if
 * its creator wrote BOOLEAN.
 */
export function columnOf(field: MysqlField): StoredType {
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
      return decimal(field)
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

function decimal(field: MysqlField): StoredType {
  const scale = field.decimals
  const precision = field.columnLength - (scale > 0 ? 1 : 0) - (isUnsigned(field) ? 0 : 1)
  return precision >= scale && precision > 0 ? { dataType: 'DECIMAL', precision, scale } : { dataType: 'DECIMAL' }
}
