import type { DataType } from '@sluice/contracts'
import type { StoredType } from '../src/index.ts'

const sqlNames: Partial<Record<DataType, string>> = {
  FLOAT: 'real',
  DOUBLE: 'double precision',
  DECIMAL: 'numeric',
  GEOMETRY: 'text',
  VARCHAR_50: 'varchar(50)',
}

/** Returns the PostgreSQL type that stores a column. */
export const sqlType = ({ dataType, precision, scale }: StoredType): string =>
  precision === undefined ? (sqlNames[dataType] ?? dataType) : `numeric(${precision},${scale})`
