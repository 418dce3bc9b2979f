import type { DataType } from '@sluice/contracts'

/** Encodings of a column's values, in the order of assembly/column-state.ts. */
const kinds = [
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
type StoredKind = (typeof kinds)[number]

const kindsOfOtherTypes: Partial<Record<DataType, StoredKind>> = {
  CHARACTER_11: 'TEXT',
  VARCHAR_50: 'TEXT',
  VARCHAR_255: 'TEXT',
  GEOMETRY: 'TEXT',
  GEOMETRY_POINT: 'TEXT',
  TIMESTAMPTZ: 'TIMESTAMP',
}

export const kindOf = (dataType: DataType): StoredKind => kindsOfOtherTypes[dataType] ?? (dataType as StoredKind)

/** Returns the module's code for a stored type. */
export const kindCodeOf = (dataType: DataType): number => kinds.indexOf(kindOf(dataType))
