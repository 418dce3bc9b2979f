import type { DataType } from '@sluice/contracts'

/** Encodings of a column's values, in the order of assembly/column-state.ts. */
const encodings = [
  'TEXT',
  'BOOLEAN',
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'DECIMAL',
  'DOUBLE',
  'DATE',
  'TIMESTAMP',
  'FLOAT',
  'JSONB',
] as const
type ValueEncoding = (typeof encodings)[number]

const encodingsOfOtherTypes: Partial<Record<DataType, ValueEncoding>> = {
  CHARACTER_11: 'TEXT',
  VARCHAR_50: 'TEXT',
  VARCHAR_255: 'TEXT',
  GEOMETRY: 'TEXT',
  GEOMETRY_POINT: 'TEXT',
  TIMESTAMPTZ: 'TIMESTAMP',
}

/** Returns how the values of a type are encoded. Some types have the same encoding. */
export const encodingOf = (dataType: DataType): ValueEncoding =>
  encodingsOfOtherTypes[dataType] ?? (dataType as ValueEncoding)

/** Returns the module's code for a stored type. */
export const encodingCodeOf = (dataType: DataType): number => encodings.indexOf(encodingOf(dataType))
