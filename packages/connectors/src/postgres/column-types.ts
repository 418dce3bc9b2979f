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

/** Returns the column type for a PostgreSQL type. Unknown types and types of extensions become text. */
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
  const columnType = postgresColumnType(type)
  const columnSqlType = sqlTypes[columnType.dataType]
  const storedSqlType = sqlTypes[storedType.dataType]
  const expression = castToColumnType(column, type, columnSqlType)
  if (storedSqlType === columnSqlType) return expression
  // Casts through text, because a direct cast of a float to numeric rounds to 15 digits (6 for real).
  const isFloatToNumeric = storedSqlType === 'numeric' && columnSqlType.startsWith('float')
  return isFloatToNumeric ? `${expression}::text::numeric` : `${expression}::${storedSqlType}`
}

/** Returns the SQL expression for a column in the type that `postgresColumnType` returns for it. */
function castToColumnType(column: string, { name, schema }: PostgresType, columnSqlType: string): string {
  if (isGeometry(name)) return `${escapeIdentifier(schema)}.st_asewkt(${column})`
  const hasSameFormat = schema === 'pg_catalog' && sameFormatTypes[name] !== undefined
  return hasSameFormat ? column : `${column}::${columnSqlType}`
}

const isGeometry = (name: string): boolean => name === 'geometry' || name === 'geography'

/** PostgreSQL adds this number to a type modifier. A smaller one means that the type has no modifier. */
const modifierOffset = 4

/**
 * Decodes the type modifier of `numeric(p,s)`. PostgreSQL 15 and later allow a scale that is negative or above the
 * precision; such a type becomes numeric without precision.
 */
export function decodePrecision(modifier: number): { precision?: number; scale?: number } {
  if (modifier < modifierOffset) return {}
  const bits = modifier - modifierOffset
  // The upper 16 bits contain the precision, and the lower 11 bits the scale as a signed number.
  const precision = (bits >> 16) & 0xffff
  const scale = ((bits & 0x7ff) ^ 1024) - 1024
  const isSupported = scale >= 0 && scale <= precision
  return isSupported ? { precision, scale } : {}
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
    // Prevents an unhandled rejection until the caller awaits the promise.
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

const syntaxErrorState = '42601'

/**
 * Executes the query without fetching rows, to check that it runs and that the login has the necessary permissions.
 * Throws `StatementNotAllowedError` if `limit` cannot be appended, because the statement is then not a query.
 */
export async function assertQueryRuns(client: Client, query: string): Promise<void> {
  try {
    await client.query({ text: `${query} limit 0`, queryMode: 'extended' } as QueryConfig)
  } catch (error) {
    if ((error as { code?: string }).code !== syntaxErrorState) throw error
    throw new StatementNotAllowedError(undefined, { cause: error })
  }
}
