import { measuredColumn } from '../measured.ts'
import { type FeedMemory, historyOf } from '../shape/feed-memory.ts'
import type { TablePlace, StagingTable } from '../views.ts'
import type { WarehouseTable } from '../warehouse.ts'
import type { ClientAccess } from './clickhouse-settings.ts'
import { execute, rowsOf } from './http.ts'
import { keepReplaced } from './kept-tables.ts'
import { entryOf, ledgerOf } from './ledger.ts'
import { feedOf } from './plan-load.ts'
import { databaseOf, keptPrefix, quoted, runPrefix, schemaPrefix, shownPrefix } from './names.ts'
import { describeColumn, markIn, readShape, type ClickHouseShape } from './table-shape.ts'

export async function findTable(
  access: ClientAccess,
  schema: string,
  name: string,
): Promise<WarehouseTable | undefined> {
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  return shape && tableOf(access, schema, shape)
}

/** Returns the table. The server counts the rows; the load measured the columns. */
export async function tableOf(access: ClientAccess, schema: string, shape: ClickHouseShape): Promise<WarehouseTable> {
  const entry = await entryOf(access, shape.mark?.load)
  const profiles = new Map(entry?.profile?.map((profile) => [profile.column, profile]))
  const history = historyOf(entry?.feed)
  const columns = shape.columns.map((column) => ({
    ...describeColumn(column),
    ...history(column.name),
    ...measuredColumn(profiles.get(column.name)),
  }))
  return { schema, name: shape.name, columns, rowCount: shape.rows, size: shape.bytes, foreignKeys: [] }
}

export async function findFeed(access: ClientAccess, schema: string, name: string): Promise<FeedMemory | undefined> {
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  return feedOf(shape, await entryOf(access, shape?.mark?.load))
}

export async function findCursor(access: ClientAccess, schema: string, name: string): Promise<unknown> {
  const shape = await readShape(access.service, databaseOf({ key: access.key, schema }), name)
  return (await entryOf(access, shape?.mark?.load))?.cursor
}

export async function listSchemas({ key, service }: ClientAccess): Promise<string[]> {
  const prefix = schemaPrefix(key)
  const rows = await rowsOf<{ name: string }>(
    service,
    'select name from system.databases where startsWith(name, {prefix:String}) order by name',
    { parameters: { prefix } },
  )
  return rows.map(({ name }) => name.slice(prefix.length))
}

/** Sorted by the bytes of the schema, then of the name. */
export async function relations({ key, service }: ClientAccess, schemas: readonly string[]): Promise<TablePlace[]> {
  if (schemas.length === 0) return []
  const wanted = new Map(schemas.map((schema) => [databaseOf({ key, schema }), schema]))
  const rows = await rowsOf<{ database: string; name: string }>(
    service,
    `select database, name from system.tables
     where startsWith(database, {prefix:String}) or startsWith(database, {shown:String}) order by database, name`,
    { parameters: { prefix: schemaPrefix(key), shown: shownPrefix(key) } },
  )
  return rows.flatMap(({ database, name }) => {
    const schema = wanted.get(database)
    return schema === undefined ? [] : [{ schema, name }]
  })
}

export async function findTables(access: ClientAccess, places: readonly TablePlace[]): Promise<WarehouseTable[]> {
  const found: WarehouseTable[] = []
  for (const { schema, name } of places) {
    const table = await findTable(access, schema, name)
    if (table) found.push(table)
  }
  return found
}

/** Returns the newest staging table for this table. */
export async function findStaging(
  access: ClientAccess,
  schema: string,
  table: string,
): Promise<StagingTable | undefined> {
  const rows = await rowsOf<{ database: string; name: string; comment: string }>(
    access.service,
    `select database, name, comment from system.tables where startsWith(database, {prefix:String}) and name = {table:String}
     order by metadata_modification_time desc`,
    { parameters: { prefix: runPrefix(access.key), table } },
  )
  for (const { database, name, comment } of rows) {
    const mark = markIn(comment)
    if (mark?.schema !== schema || mark.run === undefined) continue
    const shape = await readShape(access.service, database, name)
    if (shape) return { ...(await tableOf(access, database, shape)), run: mark.run }
  }
  return undefined
}

/** Lists databases first and reads the live runs second: a run is registered before its database exists. */
export async function sweepStaging(
  access: ClientAccess,
  alive: () => Promise<ReadonlySet<string>>,
  keepDays: number,
): Promise<number> {
  const { key, service } = access
  const rows = await rowsOf<{ name: string; comment: string }>(
    service,
    `select name, comment from system.databases
     where startsWith(name, {run:String}) or startsWith(name, {shown:String})`,
    { parameters: { run: runPrefix(key), shown: shownPrefix(key) } },
  )
  if (rows.length === 0) return 0
  const runs = await alive()
  let dropped = 0
  for (const { name, comment } of rows) {
    const run = runIn(comment)
    if (run === undefined || runs.has(run)) continue
    const gone = await keepReplaced(access, name, keepDays)
      .then(() => execute(service, `drop database if exists ${quoted(name)}`))
      .then(
        () => true,
        () => false,
      )
    if (gone) dropped += 1
  }
  return dropped
}

/**
 * Returns the run in the comment. A database that belongs to no run has an end time in its comment; until then the result is undefined.
 */
function runIn(comment: string): string | undefined {
  try {
    const { run, until = 0 } = JSON.parse(comment) as { run?: unknown; until?: number }
    return typeof run === 'string' && until < Date.now() ? run : undefined
  } catch {
    return undefined
  }
}

/** Deletes the ledger's entries of runs older than this that have no rows in any table. */
export async function pruneLedger(access: ClientAccess, days: number): Promise<number> {
  const { key, service } = access
  const tables = await rowsOf<{ comment: string }>(
    service,
    'select comment from system.tables where startsWith(database, {prefix:String}) or startsWith(database, {kept:String})',
    { parameters: { prefix: schemaPrefix(key), kept: keptPrefix(key) } },
  )
  const held = tables.flatMap(({ comment }) => markIn(comment)?.load ?? [])
  const where = `at < now64(6) - interval {days:UInt32} day and run not in (
    select run from ${ledgerOf(access)} where has({held:Array(String)}, load))`
  const parameters = { days: String(days), held }
  const [old] = await rowsOf<{ runs: number }>(
    service,
    `select uniqExact(run) as runs from ${ledgerOf(access)} where ${where}`,
    {
      parameters,
    },
  )
  if (old!.runs > 0) await execute(service, `alter table ${ledgerOf(access)} delete where ${where}`, { parameters })
  return old!.runs
}
