import type { DataType } from '@sluice/contracts'
import { type Client, type Connection, escapeIdentifier, type QueryConfig, type Submittable } from 'pg'
import type { StoredType } from '@sluice/row-stream'
import { StatementNotAllowedError } from '../database-connector/database-session.ts'

/** The server's description of a statement's column. */
export interface PostgresField {
  name: string
  dataTypeID: number
  dataTypeModifier: number
}

/** The type of a column: its name and schema in the catalogue, and its encoded type modifier. */
export interface PostgresType {
  name: string
  schema: string
  modifier: number
}

/** PostgreSQL types with the same binary format as the warehouse column's type. */
const sameFormatTypes: Record<string, DataType> = {
  int2: 'SMALLINT',
  int4: 'INTEGER',
  int8: 'BIGINT',
  float4: 'FLOAT',
  float8: 'DOUBLE',
  bool: 'BOOLEAN',
  date: 'DATE',
  timestamp: 'TIMESTAMP',
  timestamptz: 'TIMESTAMPTZ',
  jsonb: 'JSONB',
  text: 'TEXT',
  varchar: 'TEXT',
  numeric: 'DECIMAL',
}

/** Types that the query casts to one of the types above. All other types are cast to text. */
const castTargetTypes: Record<string, DataType> = { oid: 'BIGINT', money: 'DECIMAL', json: 'JSONB' }

const sqlTypes: Record<DataType, string> = {
  SMALLINT: 'int2',
  INTEGER: 'int4',
  BIGINT: 'int8',
  DECIMAL: 'numeric',
  FLOAT: 'float4',
  DOUBLE: 'float8',
  BOOLEAN: 'bool',
  CHARACTER_11: 'text',
  VARCHAR_50: 'text',
  VARCHAR_255: 'text',
  TEXT: 'text',
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  TIMESTAMPTZ: 'timestamptz',
  GEOMETRY: 'text',
  GEOMETRY_POINT: 'text',
  JSONB: 'jsonb',
}

export function postgresColumnType({ name, schema, modifier }: PostgresType): StoredType {
  if (isGeometry(name)) return { dataType: 'GEOMETRY' }
  if (schema !== 'pg_catalog') return { dataType: 'TEXT' }
  if (name === 'numeric') return { dataType: 'DECIMAL', ...decodePrecision(modifier) }
  return { dataType: sameFormatTypes[name] ?? castTargetTypes[name] ?? 'TEXT' }
}

/**
 * Returns the SQL expression that converts `column` to its stored type, so that the warehouse can read its binary
 * format.
 */
export function readExpression(column: string, type: PostgresType, storedType: StoredType): string {
  const offered = postgresColumnType(type)
  const value = plainValue(column, type, offered)
  const storedSqlType = sqlTypes[storedType.dataType]
  if (storedSqlType === sqlTypes[offered.dataType]) return value
  // Casts through text, because a direct cast of a float to numeric rounds to 15 digits (6 for real).
  if (storedSqlType === 'numeric' && sqlTypes[offered.dataType].startsWith('float')) return `${value}::text::numeric`
  return `${value}::${storedSqlType}`
}

function plainValue(column: string, { name, schema }: PostgresType, { dataType }: StoredType): string {
  if (isGeometry(name)) return `${escapeIdentifier(schema)}.st_asewkt(${column})`
  return schema === 'pg_catalog' && sameFormatTypes[name] !== undefined ? column : `${column}::${sqlTypes[dataType]}`
}

const isGeometry = (name: string): boolean => name === 'geometry' || name === 'geography'

/**
 * Decodes the type modifier of `numeric(p,s)`. PostgreSQL 15 and later allow a scale that is negative or above the
 * precision; such a type becomes numeric without precision.
 */
export function decodePrecision(modifier: number): { precision?: number; scale?: number } {
  if (modifier < 4) return {}
  const precision = ((modifier - 4) >> 16) & 0xffff
  const scale = (((modifier - 4) & 0x7ff) ^ 1024) - 1024
  return scale < 0 || scale > precision ? {} : { precision, scale }
}

/**
 * Makes the server parse and describe a statement without executing it. This protocol message accepts only one
 * statement. Returns no fields for a statement without a result.
 */
export class DescribeCommand implements Submittable {
  readonly fields: Promise<PostgresField[]>
  readonly #text: string
  readonly #completion = Promise.withResolvers<PostgresField[]>()
  #fields: PostgresField[] = []

  constructor(text: string) {
    this.#text = text
    this.fields = this.#completion.promise
    this.fields.catch(() => {})
  }

  submit(connection: Connection): void {
    connection.parse({ name: '', text: this.#text, types: [] }, true)
    connection.describe({ type: 'S', name: '' }, true)
    connection.sync()
  }

  handleRowDescription({ fields }: { fields: PostgresField[] }): void {
    this.#fields = fields
  }

  handleError(error: Error): void {
    this.#completion.reject(error)
  }

  handleReadyForQuery(): void {
    this.#completion.resolve(this.#fields)
  }
}

/** Executes the query without fetching rows, to check that it runs and that the login has the necessary permissions. */
export async function assertQueryRuns(client: Client, query: string): Promise<void> {
  try {
    await client.query({ text: `${query} limit 0`, queryMode: 'extended' } as QueryConfig)
  } catch (error) {
    if ((error as { code?: string }).code !== '42601') throw error
    throw new StatementNotAllowedError(undefined, { cause: error })
  }
}
