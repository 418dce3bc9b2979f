import { createHash } from 'node:crypto'
import { WarehouseProblem } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { executeStatement, rowsOf } from '../protocol/http-client.ts'
import { type PublishedRow, listLastPublication } from '../publication-ledger.ts'
import {
  databaseOf,
  keptPrefix,
  formatLiteral,
  qualifyName,
  quoteIdentifier,
  runPrefix,
  quotePlace,
} from '../sql-identifiers.ts'
import { errorCodes, isCode } from '../map-server-errors.ts'
import { type TableMetadata, parseTableMetadata, readShape } from '../table-shape.ts'

/** A table in a run's database or in a database of kept tables. It may be one that a publication replaced. */
interface ReplacedTable {
  database: string
  name: string
  uuid: string
  metadata: TableMetadata | undefined
}

/**
 * The tables of the last publication, each with the table that it replaced. The ledger (Sluice's table of loads)
 * identifies that table by its UUID, because its name changes.
 */
export interface PreviousPublication {
  tables: (PublishedRow & { replaced: ReplacedTable | undefined })[]
}

const millisecondsOfDay = 86_400_000

/**
 * Finds the tables that an undo of this table's last publication would restore: all tables of that publication, each
 * with the table that it replaced. `replaced` is undefined for a table that the publication created. Returns undefined
 * if there is nothing to restore: the publication only created tables, a replaced table no longer exists, or a later
 * publication changed one of the tables.
 */
export async function findPrevious(
  access: ClientAccess,
  { schema, table }: { schema: string; table: string },
): Promise<PreviousPublication | undefined> {
  const findPublishedLoad = async (place: { schema: string; table: string }) => {
    const database = databaseOf({ key: access.key, schema: place.schema })
    return (await readShape(access.service, database, place.table))?.metadata?.load
  }
  const rows = await listLastPublication(access, await findPublishedLoad({ schema, table }))
  const hiddenTables = await listHiddenTables(access)
  const tables: PreviousPublication['tables'] = []
  for (const row of rows) {
    const replaced = hiddenTables.find(({ uuid }) => uuid === row.base)
    const isReplacedTableGone = row.base !== '' && !replaced
    if (isReplacedTableGone) return undefined
    const isChangedSince = (await findPublishedLoad(row)) !== row.load
    if (isChangedSince) return undefined
    tables.push({ ...row, replaced })
  }
  const replacesTables = tables.some(({ replaced }) => replaced !== undefined)
  return replacesTables ? { tables } : undefined
}

/** Lists the tables in the databases of runs and the databases of kept tables. */
async function listHiddenTables({ key, service }: ClientAccess): Promise<ReplacedTable[]> {
  const rows = await rowsOf<{ database: string; name: string; uuid: string; comment: string }>(
    service,
    `select database, name, toString(uuid) as uuid, comment from system.tables
     where startsWith(database, {run:String}) or startsWith(database, {kept:String})`,
    { parameters: { run: runPrefix(key), kept: keptPrefix(key) } },
  )
  return rows.map(({ comment, ...table }) => ({ ...table, metadata: parseTableMetadata(comment) }))
}

/**
 * Moves the replaced tables from a run's database to a database of kept tables, so that the load can be undone. Call it
 * before the run's database is dropped. Also moves back kept tables that a failed restore had moved to the run's
 * database. Drops the kept tables of earlier publications, because only the last one can be undone. With `keepDays` 0,
 * keeps no table. Idempotent.
 */
export async function keepReplaced(access: ClientAccess, database: string, keepDays: number): Promise<void> {
  // Several tables in the run's database can belong to the same published table.
  const targets = new Map<string, PublishedName>()
  for (const table of await listHiddenTables(access)) {
    const { schema, table: name } = table.metadata ?? {}
    if (table.database === database && schema && name) targets.set(quotePlace(schema, name), { schema, table: name })
  }
  for (const target of targets.values()) await keepTablesOfLastPublication(access, database, target, keepDays)
}

interface PublishedName {
  schema: string
  table: string
}

/**
 * Moves the tables that the last publication of this table replaced from a run's database to the kept tables, and drops
 * the kept tables of earlier publications. With `keepDays` 0, moves nothing and drops all kept tables. A publication
 * can have several tables; this function does the same for all of them.
 */
async function keepTablesOfLastPublication(
  access: ClientAccess,
  database: string,
  target: PublishedName,
  keepDays: number,
): Promise<void> {
  const lastPublication = (await findPrevious(access, target))?.tables ?? []
  const replacedTables = lastPublication.flatMap(({ replaced }) => replaced ?? [])
  const tablesToKeep = keepDays > 0 ? replacedTables : []
  const tablesToMove = tablesToKeep.filter((replaced) => replaced.database === database)
  if (tablesToMove.length > 0) await keepTables(access, tablesToMove, lastPublication[0]!.publication)
  const uuidsToKeep = new Set(tablesToKeep.map(({ uuid }) => uuid))
  const publishedNames = new Set([target, ...lastPublication].map(nameOf))
  await dropKept(access, (metadata, uuid) => publishedNames.has(nameOf(metadata)) && !uuidsToKeep.has(uuid))
}

const nameOf = ({ schema = '', table = '' }: Partial<PublishedName>): string => quotePlace(schema, table)

/** Moves replaced tables to a database of kept tables, one database per publication that replaced them. */
async function keepTables(access: ClientAccess, tables: readonly ReplacedTable[], publication: string): Promise<void> {
  const hash = createHash('sha256').update(publication).digest('hex').slice(0, 16)
  const database = `${keptPrefix(access.key)}${hash}`
  const comment = formatLiteral(JSON.stringify({ kept: publication, at: Date.now() }))
  await executeStatement(
    access.service,
    `create database if not exists ${quoteIdentifier(database)} comment ${comment}`,
  )
  for (const table of tables) await moveTable(access, table, qualifyName(database, `kept_${table.uuid}`))
}

/** Moves a table. Does nothing if another process has moved or dropped it since it was listed. */
export async function moveTable(
  access: ClientAccess,
  { database, name }: ReplacedTable,
  qualifiedName: string,
): Promise<void> {
  await executeStatement(access.service, `rename table ${qualifyName(database, name)} to ${qualifiedName}`).catch(
    (error: unknown) => {
      // Another process moved the table and may then have dropped the empty database.
      if (!isCode(error, errorCodes.unknownTable) && !isCode(error, errorCodes.unknownDatabase)) throw error
    },
  )
}

/** Drops the kept tables for which `shouldDrop` returns true, then the databases that became empty. */
export async function dropKept(
  access: ClientAccess,
  shouldDrop: (metadata: TableMetadata, uuid: string) => boolean,
): Promise<void> {
  const hiddenTables = await listHiddenTables(access)
  const keptTables = hiddenTables.filter(({ database }) => database.startsWith(keptPrefix(access.key)))
  const tablesToDrop = keptTables.filter(({ metadata, uuid }) => metadata && shouldDrop(metadata, uuid))
  for (const { database, name } of tablesToDrop)
    await executeStatement(access.service, `drop table if exists ${qualifyName(database, name)}`)
  const remainingTables = keptTables.filter((table) => !tablesToDrop.includes(table))
  const usedDatabases = new Set(remainingTables.map(({ database }) => database))
  const emptyDatabases = new Set(tablesToDrop.map(({ database }) => database)).difference(usedDatabases)
  for (const database of emptyDatabases)
    await executeStatement(access.service, `drop database if exists ${quoteIdentifier(database)}`)
}

/**
 * Drops the tables that have been kept for at least `keepDays` days. Each database has the tables that one publication
 * replaced. Returns the number of dropped databases.
 */
export async function dropExpired({ key, service }: ClientAccess, keepDays: number): Promise<number> {
  const rows = await rowsOf<{ name: string; comment: string }>(
    service,
    'select name, comment from system.databases where startsWith(name, {prefix:String})',
    { parameters: { prefix: keptPrefix(key) } },
  )
  const latestTime = Date.now() - keepDays * millisecondsOfDay
  const expiredDatabases = rows.filter(({ comment }) => parseKeptTime(comment) <= latestTime)
  for (const { name } of expiredDatabases)
    await executeStatement(service, `drop database if exists ${quoteIdentifier(name)}`)
  return expiredDatabases.length
}

/**
 * Returns the creation time in the comment of a database of kept tables, as Unix milliseconds. Returns 0 for any other
 * comment.
 */
function parseKeptTime(comment: string): number {
  try {
    const { at } = JSON.parse(comment) as { at?: unknown }
    return typeof at === 'number' ? at : 0
  } catch {
    return 0
  }
}

export function nothingToRestoreProblem(qualifiedName: string): WarehouseProblem {
  return new WarehouseProblem(
    'NOTHING_TO_RESTORE',
    `No earlier version of ${qualifiedName} is available. Replaced tables are kept for KEEP_PREVIOUS_DAYS.`,
  )
}
