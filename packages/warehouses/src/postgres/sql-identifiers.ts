import { checkIdentifier, refusedName } from '../sql-text/check-identifier.ts'
import { escapeIdentifier } from 'pg'

const reservedSchemas = new Set(['sluice', 'information_schema', 'public'])
const systemColumns = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'])

/**
 * Throws INVALID_NAME unless users may choose this schema name. Reserved are PostgreSQL's own schemas, `sluice` and
 * names that start with `sluice_`, and `public`, to which the roles have no rights.
 */
export function checkSchemaName(name: string): void {
  checkIdentifier('schema', name)
  const lowerCaseName = name.toLowerCase()
  const isReserved = lowerCaseName.startsWith('sluice_') || reservedSchemas.has(lowerCaseName)
  if (isReserved || hasPostgresPrefix(name)) throw refusedName('schema', name, 'is reserved')
}

export function checkTableName(name: string): void {
  checkIdentifier('table', name)
  if (hasPostgresPrefix(name)) throw refusedName('table', name, 'is reserved')
}

export function checkColumnName(name: string): void {
  checkIdentifier('column', name)
  if (systemColumns.has(name)) throw refusedName('column', name, 'is one of PostgreSQL’s own columns')
}

/** Returns `"schema"."table"`, quoted for SQL. */
export function qualifyName(schema: string, table: string): string {
  return `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`
}

function hasPostgresPrefix(name: string): boolean {
  return name.toLowerCase().startsWith('pg_')
}
