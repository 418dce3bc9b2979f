import { checkIdentifier, refusedName } from '../sql-text/check-identifier.ts'
import { createHash } from 'node:crypto'

/** `key` is the client's short name in the warehouse: only lower-case letters and digits, so any other character ends it. */
export interface SchemaPlace {
  key: string
  schema: string
}

/** Returns the database of a client's schema. The schema of a preview already has the name of its database. */
export const databaseOf = ({ key, schema }: SchemaPlace): string =>
  schema.startsWith(shownPrefix(key)) ? schema : `${schemaPrefix(key)}${schema}`

/** Returns the name of the database with the ledger, to which only the service writes. */
export const ledgerDatabase = (key: string): string => `c_${key}`

/** Returns the name of the database with the staging tables of one attempt. No schema's database can have its prefix. */
export function runDatabase(key: string, { run, attempt }: { run: string; attempt: number }): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([run, attempt]))
    .digest('hex')
    .slice(0, 12)
  return `${runPrefix(key)}${run.replaceAll(/[^A-Za-z0-9-]/g, '').slice(0, 36)}_${attempt}_${hash}`
}

/** Returns the prefix of the databases with staging tables. */
export const runPrefix = (key: string): string => `c_${key}-run_`
/** Returns the prefix of the databases with previews of staged rows and with stored results of queries. */
export const shownPrefix = (key: string): string => `c_${key}-shown_`
/** Returns the prefix of the databases with tables that a publication replaced. */
export const keptPrefix = (key: string): string => `c_${key}-kept_`
/** Returns the prefix of the databases with the client's schemas. */
export const schemaPrefix = (key: string): string => `c_${key}_`

export const quoteIdentifier = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``

export const formatLiteral = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

export const qualifyName = (database: string, table: string): string =>
  `${quoteIdentifier(database)}.${quoteIdentifier(table)}`

/** Formats the client's own name of the place for messages. */
export const quotePlace = (schema: string, table: string): string => `"${schema}"."${table}"`

export function checkSchemaName(name: string): void {
  checkIdentifier('schema', name)
  if (/^c_[a-z0-9]+-/.test(name)) throw refusedName('schema', name, 'is reserved')
}

export function checkTableName(name: string): void {
  checkIdentifier('table', name)
  if (name.startsWith('.inner')) throw refusedName('table', name, 'is reserved')
}

/** Names that a column cannot have: virtual columns of every table, and columns that the server uses to order and delete rows. */
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

/** Returns the comment of a database that belongs to no run. A sweep drops the database after `seconds`. */
export const temporaryComment = (purpose: string, seconds: number): string =>
  formatLiteral(JSON.stringify({ run: purpose, until: Date.now() + seconds * 1_000 }))
