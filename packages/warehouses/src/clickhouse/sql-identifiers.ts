import { checkIdentifier, refusedName } from '../sql-text/check-identifier.ts'
import { createHash } from 'node:crypto'

/**
 * `key` is the organisation's short name in the warehouse. It consists of lower-case letters and digits, so the
 * character after it in a database name marks its end.
 */
export interface SchemaPlace {
  key: string
  schema: string
}

/**
 * Returns the name of the database that stores a schema. For the schema of a staged-rows preview, it is the same name.
 */
export const databaseOf = ({ key, schema }: SchemaPlace): string =>
  schema.startsWith(shownPrefix(key)) ? schema : `${schemaPrefix(key)}${schema}`

/**
 * Returns the name of the database with the ledger (Sluice's table of loads). Only the service user may write to it.
 */
export const ledgerDatabase = (key: string): string => `c_${key}`

/**
 * Returns the name of the database for the staging tables of one attempt of a run. No schema's database can have the
 * prefix of this name.
 */
export function runDatabase(key: string, { run, attempt }: { run: string; attempt: number }): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([run, attempt]))
    .digest('hex')
    .slice(0, 12)
  return `${runPrefix(key)}${run.replaceAll(/[^A-Za-z0-9-]/g, '').slice(0, 36)}_${attempt}_${hash}`
}

/** Returns the prefix of the databases with staging tables. */
export const runPrefix = (key: string): string => `c_${key}-run_`
/** Returns the prefix of the databases for previews of staged rows and for stored query results. */
export const shownPrefix = (key: string): string => `c_${key}-shown_`
/** Returns the prefix of the databases for tables that a publication replaced, which are kept for undo. */
export const keptPrefix = (key: string): string => `c_${key}-kept_`
/** Returns the prefix of the databases with the organisation's schemas. */
export const schemaPrefix = (key: string): string => `c_${key}_`

export const quoteIdentifier = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``

export const formatLiteral = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

export const qualifyName = (database: string, table: string): string =>
  `${quoteIdentifier(database)}.${quoteIdentifier(table)}`

/** Formats the user-facing name of a table for messages: `"schema"."table"`. */
export const quotePlace = (schema: string, table: string): string => `"${schema}"."${table}"`

export function checkSchemaName(name: string): void {
  checkIdentifier('schema', name)
  if (/^c_[a-z0-9]+-/.test(name)) throw refusedName('schema', name, 'is reserved')
}

export function checkTableName(name: string): void {
  checkIdentifier('table', name)
  if (name.startsWith('.inner')) throw refusedName('table', name, 'is reserved')
}

/**
 * Forbidden column names: virtual columns of every ClickHouse table, and columns that the server uses to order and
 * delete rows.
 */
const reservedColumns = new Set(
  (
    '_part _part_index _part_offset _part_granule_offset _part_starting_offset _part_uuid _part_data_version _partition_id _partition_value ' +
    '_sample_factor _row_exists _block_number _block_offset _disk_name _distance _database _table _shard_num'
  ).split(' '),
)

export function checkColumnName(name: string): void {
  checkIdentifier('column', name)
  if (reservedColumns.has(name)) throw refusedName('column', name, 'is one of ClickHouse’s own columns')
}

/**
 * Returns the comment of a temporary database that belongs to no run. A maintenance sweep drops the database after
 * `seconds`.
 */
export const temporaryComment = (purpose: string, seconds: number): string =>
  formatLiteral(JSON.stringify({ run: purpose, until: Date.now() + seconds * 1_000 }))
