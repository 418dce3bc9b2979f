import { checkIdentifier, refusedName } from '../sql-text/check-identifier.ts'
import { escapeIdentifier } from 'pg'

const systemSchemas = new Set(['sluice', 'information_schema', 'public'])
const systemColumns = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'])

/**
 * Throws unless users may choose this schema name. Forbidden are PostgreSQL's own schemas, names that start with
 * `sluice`, and `public`, which is locked.
 */
export function checkSchemaName(name: string): void {
  checkIdentifier('schema', name)
  if (isReserved(name) || name.toLowerCase().startsWith('sluice_') || systemSchemas.has(name.toLowerCase()))
    throw refusedName('schema', name, 'is reserved')
}

export function checkTableName(name: string): void {
  checkIdentifier('table', name)
  if (isReserved(name)) throw refusedName('table', name, 'is reserved')
}

export function checkColumnName(name: string): void {
  checkIdentifier('column', name)
  if (systemColumns.has(name)) throw refusedName('column', name, 'is one of PostgreSQL’s own columns')
}

/** Returns `"schema"."table"`, quoted for SQL. */
export function qualifyName(schema: string, table: string): string {
  return `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`
}

function isReserved(name: string): boolean {
  return name.toLowerCase().startsWith('pg_')
}
