/** Column types in requests and responses. They are the same for all sources and warehouses. */
export const dataTypes = [
  'SMALLINT',
  'INTEGER',
  'BIGINT',
  'DECIMAL',
  'FLOAT',
  'DOUBLE',
  'BOOLEAN',
  'CHARACTER_11',
  'VARCHAR_50',
  'VARCHAR_255',
  'TEXT',
  'DATE',
  'TIMESTAMP',
  'TIMESTAMPTZ',
  'GEOMETRY',
  'GEOMETRY_POINT',
  'JSONB',
] as const

export type DataType = (typeof dataTypes)[number]
