import { createHash } from 'node:crypto'
import { WarehouseProblem } from '../../warehouse.ts'
import type { ClientAccess } from '../clickhouse-settings.ts'
import { executeStatement, rowsOf } from '../protocol/http.ts'
import { type PublishedRow, listLastPublication } from '../ledger.ts'
import { databaseOf, keptPrefix, formatLiteral, qualifyName, quoteIdentifier, runPrefix, quotePlace } from '../names.ts'
import { errorCodes, isCode } from '../problems.ts'
import { type TableMark, markIn, readShape } from '../table-shape.ts'

/** A replaced table under a hidden name. */
interface ReplacedTable {
  database: string
  name: string
  uuid: string
  mark: TableMark | undefined
}

/** The table that the last publication replaced. The ledger identifies the table by its uuid, because its name changes. */
export interface PreviousPublication {
  tables: (PublishedRow & { replaced: ReplacedTable | undefined })[]
}

const millisecondsOfDay = 86_400_000

/**
 * Returns the tables that a restore would publish: all those that the last publication of the table replaced. `replaced` is absent
 * for a table that this publication created. Returns undefined if a replaced table no longer exists or a later publication changed
 * one of the tables.
 */
export async function findPrevious(
  access: ClientAccess,
  { schema, table }: { schema: string; table: string },
): Promise<PreviousPublication | undefined> {
  const loadAt = async (place: { schema: string; table: string }) =>
    (await readShape(access.service, databaseOf({ key: access.key, schema: place.schema }), place.table))?.mark?.load
  const rows = await listLastPublication(access, await loadAt({ schema, table }))
  const hidden = await hiddenTables(access)
  const tables: PreviousPublication['tables'] = []
  for (const row of rows) {
    const replaced = hidden.find(({ uuid }) => uuid === row.base)
    if (row.base !== '' && !replaced) return undefined
    if ((await loadAt(row)) !== row.load) return undefined
    tables.push({ ...row, replaced })
  }
  return tables.some(({ replaced }) => replaced) ? { tables } : undefined
}

/** Lists the tables in the databases of runs, and the kept tables. */
async function hiddenTables({ key, service }: ClientAccess): Promise<ReplacedTable[]> {
  const rows = await rowsOf<{ database: string; name: string; uuid: string; comment: string }>(
    service,
    `select database, name, toString(uuid) as uuid, comment from system.tables
     where startsWith(database, {run:String}) or startsWith(database, {kept:String})`,
    { parameters: { run: runPrefix(key), kept: keptPrefix(key) } },
  )
  return rows.map(({ comment, ...table }) => ({ ...table, mark: markIn(comment) }))
}

/**
 * Call this before the database of a run is dropped. It keeps the tables that the run's publication replaced, drops those kept from
 * earlier publications of the same tables, and keeps again the tables that a failed restore had taken. Idempotent.
 */
export async function keepReplaced(access: ClientAccess, database: string, days: number): Promise<void> {
  const here = (await hiddenTables(access)).filter((table) => table.database === database)
  const places = new Map(here.flatMap(({ mark }) => (mark?.schema && mark.table ? [[placeOf(mark), mark]] : [])))
  for (const { schema = '', table = '' } of places.values()) {
    const previous = await findPrevious(access, { schema, table })
    const replaced = previous?.tables.flatMap((one) => one.replaced ?? []) ?? []
    const moving = replaced.filter((one) => one.database === database)
    if (days > 0 && moving.length > 0) await keepTables(access, moving, previous!.tables[0]!.publication)
    const keeps = new Set(days > 0 ? replaced.map(({ uuid }) => uuid) : [])
    const tables = new Set(previous?.tables.map(placeOf) ?? [placeOf({ schema, table })])
    await dropKept(access, (mark, uuid) => tables.has(placeOf(mark)) && !keeps.has(uuid))
  }
}

const placeOf = ({ schema = '', table = '' }: { schema?: string; table?: string }): string => quotePlace(schema, table)

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

/** Moves a table, unless it was moved or dropped since it was listed. */
export async function moveTable(access: ClientAccess, { database, name }: ReplacedTable, place: string): Promise<void> {
  await executeStatement(access.service, `rename table ${qualifyName(database, name)} to ${place}`).catch(
    (error: unknown) => {
      // Another process moved the table, and may already have dropped the database that it left empty.
      if (!isCode(error, errorCodes.unknownTable) && !isCode(error, errorCodes.unknownDatabase)) throw error
    },
  )
}

/** Drops the kept tables for which the predicate is true, and then empty databases of kept tables. */
export async function dropKept(access: ClientAccess, goes: (mark: TableMark, uuid: string) => boolean): Promise<void> {
  const kept = (await hiddenTables(access)).filter(({ database }) => database.startsWith(keptPrefix(access.key)))
  const going = kept.filter(({ mark, uuid }) => mark && goes(mark, uuid))
  for (const { database, name } of going)
    await executeStatement(access.service, `drop table if exists ${qualifyName(database, name)}`)
  const staying = new Set(kept.filter((table) => !going.includes(table)).map(({ database }) => database))
  for (const database of new Set(going.map((table) => table.database)))
    if (!staying.has(database))
      await executeStatement(access.service, `drop database if exists ${quoteIdentifier(database)}`)
}

/** Drops tables kept for more than this many days; returns the number of publications. */
export async function dropExpired({ key, service }: ClientAccess, days: number): Promise<number> {
  const rows = await rowsOf<{ name: string; comment: string }>(
    service,
    'select name, comment from system.databases where startsWith(name, {prefix:String})',
    { parameters: { prefix: keptPrefix(key) } },
  )
  const old = rows.filter(({ comment }) => keptSince(comment) <= Date.now() - days * millisecondsOfDay)
  for (const { name } of old) await executeStatement(service, `drop database if exists ${quoteIdentifier(name)}`)
  return old.length
}

function keptSince(comment: string): number {
  try {
    const { at } = JSON.parse(comment) as { at?: unknown }
    return typeof at === 'number' ? at : 0
  } catch {
    return 0
  }
}

export function nothingKept(place: string): WarehouseProblem {
  return new WarehouseProblem(
    'NOTHING_TO_RESTORE',
    `No earlier version of ${place} is available. Replaced tables are kept for KEEP_PREVIOUS_DAYS.`,
  )
}
