import { escapeIdentifier } from 'pg'
import { WarehouseProblem } from '../warehouse.ts'

/** PostgreSQL cuts longer identifiers silently, so two names could become one. */
const maximumBytes = 63

const systemSchemas = new Set(['sluice', 'information_schema', 'public'])
const systemColumns = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'])

/** A schema that people may name: not PostgreSQL's own, not ours (`sluice…`), and not `public`, which is locked. */
export function checkSchemaName(name: string): void {
  checkIdentifier('schema', name)
  if (isReserved(name) || name.toLowerCase().startsWith('sluice_') || systemSchemas.has(name.toLowerCase()))
    throw refused('schema', name, 'is reserved')
}

export function checkTableName(name: string): void {
  checkIdentifier('table', name)
  if (isReserved(name)) throw refused('table', name, 'is reserved')
}

export function checkColumnName(name: string): void {
  checkIdentifier('column', name)
  if (systemColumns.has(name)) throw refused('column', name, 'is one of PostgreSQL’s own columns')
}

/** `"schema"."table"`, quoted for SQL text. */
export function qualified(schema: string, table: string): string {
  return `${escapeIdentifier(schema)}.${escapeIdentifier(table)}`
}

function isReserved(name: string): boolean {
  return name.toLowerCase().startsWith('pg_')
}

function checkIdentifier(kind: string, name: string): void {
  const bytes = Buffer.byteLength(name)
  if (bytes === 0) throw refused(kind, name, 'is empty')
  if (bytes > maximumBytes) throw refused(kind, name, `has ${bytes} bytes, and ${maximumBytes} are the most`)
  if (!name.isWellFormed()) throw refused(kind, name, 'is not valid Unicode')
  if (/\p{Cc}/u.test(name)) throw refused(kind, name, 'has control characters')
}

function refused(kind: string, name: string, why: string): WarehouseProblem {
  const shown = JSON.stringify(name.toWellFormed().slice(0, 80))
  return new WarehouseProblem('INVALID_NAME', `The ${kind} name ${shown} ${why}. Choose another name.`)
}
