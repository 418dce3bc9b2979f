import type { DataType } from '@sluice/contracts'
import type { StoredType } from '@sluice/row-stream'
import { StatementNotAllowedError } from '../database-connector/session.ts'

/** A column as the server describes a query's result. `system_type_name` is null for types that are programs. */
export interface ServerField {
  name: string | null
  system_type_name: string | null
  user_type_name: string | null
  precision: number
  scale: number
}

const dataTypes: Record<string, DataType> = {
  bit: 'BOOLEAN',
  tinyint: 'SMALLINT',
  smallint: 'SMALLINT',
  int: 'INTEGER',
  bigint: 'BIGINT',
  decimal: 'DECIMAL',
  numeric: 'DECIMAL',
  money: 'DECIMAL',
  smallmoney: 'DECIMAL',
  real: 'FLOAT',
  float: 'DOUBLE',
  date: 'DATE',
  datetime: 'TIMESTAMP',
  smalldatetime: 'TIMESTAMP',
  datetime2: 'TIMESTAMP',
  datetimeoffset: 'TIMESTAMPTZ',
  json: 'JSONB',
  geometry: 'GEOMETRY',
  geography: 'GEOMETRY',
}

/** Expressions that read a value `c` where the driver's own conversion loses digits or has no useful result. */
const expressions: Record<string, (c: string) => string> = {
  decimal: (c) => `convert(varchar(60), ${c})`,
  numeric: (c) => `convert(varchar(60), ${c})`,
  // Style 2 has four digits after the decimal point; the default style has two.
  money: (c) => `convert(varchar(60), ${c}, 2)`,
  smallmoney: (c) => `convert(varchar(60), ${c}, 2)`,
  time: (c) => `convert(varchar(20), ${c})`,
  xml: (c) => `convert(nvarchar(max), ${c})`,
  json: (c) => `convert(nvarchar(max), ${c})`,
  sql_variant: (c) => `convert(nvarchar(4000), ${c})`,
  geometry: (c) => `${c}.STAsText()`,
  geography: (c) => `${c}.STAsText()`,
  hierarchyid: (c) => `${c}.ToString()`,
}

export function columnOf(field: ServerField): StoredType {
  const name = typeName(field)
  const dataType = dataTypes[name] ?? 'TEXT'
  if (dataType !== 'DECIMAL') return { dataType }
  return { dataType, precision: field.precision, scale: field.scale }
}

/**
 * Returns the expression that reads `column` without loss. Times arrive as JavaScript dates, with finer digits in an
 * additional property.
 */
export function readExpression(column: string, field: ServerField): string {
  return expressions[typeName(field)]?.(column) ?? column
}

const typeName = ({ system_type_name: system, user_type_name: user }: ServerField): string =>
  (system ?? user ?? '').replace(/\(.*/, '').toLowerCase()

export const bracketed = (name: string): string => `[${name.replaceAll(']', ']]')}]`

/**
 * Throws `StatementNotAllowed` unless the statement begins with SELECT. In T-SQL, statements can follow each other without
 * a separator, so a query is run only as part of another query. Inside it, a second statement, WITH, and ORDER BY without
 * TOP or OFFSET are syntax errors.
 */
export function assertQuery(text: string): void {
  const start = text.replace(/^(?:\s+|--[^\n\r]*(?:[\n\r]|$)|\/\*[^]*?\*\/)+/, '')
  if (/^with\b/i.test(start))
    throw new StatementNotAllowedError('A query that begins with WITH cannot be read: make it a view, and read that.')
  if (!/^select\b/i.test(start)) throw new StatementNotAllowedError()
}
