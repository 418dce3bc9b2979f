import type { DataType } from '@sluice/contracts'
import type { StoredType } from '../../source.ts'
import { digits } from '../postgres/columns.ts'

/** The type of a column: its name in the catalogue, and what was said in brackets, encoded. */
export interface TypeInfo {
  name: string
  modifier: number
}

const dataTypes: Record<string, DataType> = {
  int2: 'SMALLINT',
  int4: 'INTEGER',
  int8: 'BIGINT',
  oid: 'BIGINT',
  float4: 'FLOAT',
  float8: 'DOUBLE',
  numeric: 'DECIMAL',
  bool: 'BOOLEAN',
  date: 'DATE',
  timestamp: 'TIMESTAMP',
  timestamptz: 'TIMESTAMPTZ',
  super: 'JSONB',
  geometry: 'GEOMETRY',
  geography: 'GEOMETRY',
}

/** What a column is offered as. All that is not named above comes as its text. */
export function columnOf({ name, modifier }: TypeInfo): StoredType {
  const dataType = dataTypes[name] ?? 'TEXT'
  return dataType === 'DECIMAL' ? { dataType, ...digits(modifier) } : { dataType }
}

/** The expression that reads `column`: everything as the server's own text, which is exact, but for shapes. */
export const readExpression = (column: string, { name }: TypeInfo): string =>
  name === 'geometry' || name === 'geography' ? `st_asewkt(${column})` : column

/** Bytes are hexadecimal digits there; elsewhere they have a sign of what they are. */
export const shownText = (text: string | null, { name }: TypeInfo): string | null =>
  text !== null && name === 'varbyte' && !text.startsWith('\\x') ? `\\x${text}` : text
