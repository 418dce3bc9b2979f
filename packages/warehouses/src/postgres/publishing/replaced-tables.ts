import type { ClientBase, Pool } from 'pg'
import { WarehouseProblem } from '../../warehouse.ts'
import { withClient } from '../postgres-connections.ts'
import { qualifyName } from '../sql-identifiers.ts'
import { freeBytes } from '../server/database-size-limit.ts'

/** A version of a table that a publication replaced. It can be kept for a restore. */
export interface ReplacedTable {
  schema: string
  table: string
  /** The detached partition with its rows. null if the table did not exist before the publication. */
  partition: string | null
}

export interface RetentionPolicy {
  /** The number of days for which replaced tables are kept. 0 if they are not kept. */
  days: number
  /** The key that authorises writes to the ledger (Sluice's table of loads). */
  ledgerKey: string
}

const keptColumns = `schema_name as schema, table_name as "table", partition_name as partition`

/** Selects the runs that replaced the kept versions of the tables with the schemas `$1` and the names `$2`. */
const selectKeptRuns = `select distinct kept_table.run from sluice.kept_table
  join unnest($1::text[], $2::text[]) as wanted (schema_name, table_name) using (schema_name, table_name) order by 1`

/** Returns the runs that replaced the kept versions of these tables. */
async function listKeptRuns(
  client: ClientBase,
  tables: readonly { schema: string; table: string }[],
): Promise<string[]> {
  const { rows } = await client.query<{ run: string }>(selectKeptRuns, [
    tables.map(({ schema }) => schema),
    tables.map(({ table }) => table),
  ])
  return rows.map(({ run }) => run)
}

/**
 * Removes the kept versions of these tables, and all other tables of the same publications, from the list of kept
 * tables. Returns the removed entries. Does not drop the partitions.
 */
async function removeKeptVersions(
  client: ClientBase,
  { ledgerKey }: RetentionPolicy,
  tables: readonly { schema: string; table: string }[],
): Promise<ReplacedTable[]> {
  // `forget_kept` deletes the entries of one run and returns them.
  const { rows } = await client.query<ReplacedTable>(
    `select ${keptColumns} from (${selectKeptRuns}) kept, sluice.forget_kept($3::text, kept.run)`,
    [tables.map(({ schema }) => schema), tables.map(({ table }) => table), ledgerKey],
  )
  return rows
}

/**
 * Removes the tables that a run replaced from the list of kept tables. Returns the removed entries. Does not drop the
 * partitions.
 */
async function removeKeptRun(
  client: ClientBase,
  { ledgerKey }: Pick<RetentionPolicy, 'ledgerKey'>,
  run: string,
): Promise<ReplacedTable[]> {
  // `forget_kept` deletes the entries and returns them.
  const { rows } = await client.query<ReplacedTable>(
    `select ${keptColumns} from sluice.forget_kept($1::text, $2::text)`,
    [ledgerKey, run],
  )
  return rows
}

/**
 * Records, in the publishing transaction, that the replaced tables are kept for a restore. They take the place of
 * earlier kept versions of the same tables. Returns the partitions to drop after the commit.
 *
 * A publication is kept completely or not at all. If it changed one table in place, none of its replaced tables is
 * kept, and the earlier kept versions stay. If all its tables are new, there is nothing to keep.
 */
export async function keepReplaced(
  client: ClientBase,
  retention: RetentionPolicy,
  run: string,
  replacedTables: readonly (ReplacedTable & { inPlace: boolean })[],
): Promise<string[]> {
  const hasMergeInPlace = replacedTables.some(({ inPlace }) => inPlace)
  if (hasMergeInPlace) return listPartitions(replacedTables)
  const earlierVersions = await removeKeptVersions(client, retention, replacedTables)
  const areAllTablesNew = replacedTables.every(({ partition }) => partition === null)
  const keepsNothing = retention.days <= 0 || areAllTablesNew
  if (keepsNothing) return listPartitions([...earlierVersions, ...replacedTables])
  await keepTables(client, retention, run, replacedTables)
  return listPartitions(earlierVersions)
}

const listPartitions = (tables: readonly ReplacedTable[]): string[] =>
  tables.map(({ partition }) => partition).filter((partition) => partition !== null)

/** Adds the tables that a run replaced to the list of kept tables. */
export async function keepTables(
  client: ClientBase,
  { ledgerKey }: RetentionPolicy,
  run: string,
  tables: readonly ReplacedTable[],
) {
  await client.query(
    `select sluice.keep_table($1::text, $2::text, kept.schema_name, kept.table_name, kept.partition_name)
     from unnest($3::text[], $4::text[], $5::text[]) as kept (schema_name, table_name, partition_name)`,
    [
      ledgerKey,
      run,
      tables.map(({ schema }) => schema),
      tables.map(({ table }) => table),
      tables.map(({ partition }) => partition),
    ],
  )
}

/**
 * Removes the kept tables of the publication that last replaced this table from the list of kept tables. Returns the
 * removed entries, sorted by name, or undefined if nothing is kept.
 */
export async function takeKeptTables(
  client: ClientBase,
  retention: RetentionPolicy,
  place: { schema: string; table: string },
): Promise<ReplacedTable[] | undefined> {
  const keptPublication = await findKeptPublication(client, place)
  if (!keptPublication) return undefined
  const tables = await removeKeptRun(client, retention, keptPublication.run)
  if (tables.length === 0) return undefined
  return tables.toSorted((one, other) => (qualifiedNameOf(one) < qualifiedNameOf(other) ? -1 : 1))
}

export const qualifiedNameOf = ({ schema, table }: { schema: string; table: string }): string =>
  qualifyName(schema, table)

/**
 * Finds the kept version of this table. Returns the run that replaced it (`run`), the run that had published it
 * (`publishedBy`) and the time at which that run had published it. Returns undefined if no version is kept, or if
 * one of the partitions of the same publication no longer exists.
 */
export async function findKeptPublication(
  client: ClientBase,
  { schema, table }: { schema: string; table: string },
): Promise<{ run: string; publishedBy: string; publishedAt: Date } | undefined> {
  const { rows } = await client.query<{ run: string; publishedBy: string; publishedAt: Date }>(
    `select kept.run, publication.run as "publishedBy", publication.published_at as "publishedAt"
     from sluice.kept_table as kept
     -- A merge in place publishes the same partition again, so several runs can have published it.
     join lateral (
       select run from sluice.ledger_table as published where published.partition_name = kept.partition_name
       order by published.entered desc limit 1
     ) as last_publisher on true
     join sluice.ledger as publication on publication.run = last_publisher.run
     where kept.schema_name = $1 and kept.table_name = $2
       -- A publication is restored completely or not at all.
       and not exists (
         select from sluice.kept_table as same_run
         where same_run.run = kept.run and same_run.partition_name is not null
           and to_regclass(format('sluice.%I', same_run.partition_name)) is null)`,
    [schema, table],
  )
  return rows[0]
}

export function nothingToRestore(qualifiedName: string): WarehouseProblem {
  return new WarehouseProblem(
    'NOTHING_TO_RESTORE',
    `No earlier version of ${qualifiedName} is available. Replaced tables are kept for KEEP_PREVIOUS_DAYS, or less if the disk is full; incremental loads (MERGE) keep none.`,
  )
}

/** Drops the kept versions of these tables within the caller's transaction. */
export async function dropKeptVersions(
  client: ClientBase,
  retention: Pick<RetentionPolicy, 'ledgerKey'>,
  tables: readonly { schema: string; table: string }[],
): Promise<void> {
  for (const run of await listKeptRuns(client, tables)) await dropKeptTablesOfRun(client, retention, run)
}

/** Drops the kept versions of all tables of a schema within the caller's transaction. */
export async function dropKeptTablesOfSchema(
  client: ClientBase,
  retention: Pick<RetentionPolicy, 'ledgerKey'>,
  schema: string,
) {
  const { rows } = await client.query<{ run: string }>(
    'select distinct run from sluice.kept_table where schema_name = $1',
    [schema],
  )
  for (const { run } of rows) await dropKeptTablesOfRun(client, retention, run)
}

/** Drops the kept tables that a run replaced. */
async function dropKeptTablesOfRun(
  client: ClientBase,
  retention: Pick<RetentionPolicy, 'ledgerKey'>,
  run: string,
): Promise<void> {
  for (const { partition } of await removeKeptRun(client, retention, run))
    if (partition !== null) await client.query(`drop table if exists ${qualifyName('sluice', partition)}`)
}

/**
 * Drops the tables that were kept longer than `retention.days` days. Returns the number of publications that lost their
 * kept tables.
 */
export async function dropExpired(pool: Pool, retention: RetentionPolicy): Promise<number> {
  const isExpired = 'kept_at <= now() - make_interval(days => $1)'
  return dropKeptPublications(pool, retention, { condition: isExpired, values: [retention.days] })
}

/**
 * Drops kept tables, oldest first, until the database has at most `maxBytes` bytes. Returns the number of publications
 * that lost their kept tables.
 */
export async function makeRoom(pool: Pool, retention: RetentionPolicy, maxBytes = 0): Promise<number> {
  const hasEnoughSpace = async (client: ClientBase) => (await freeBytes(client, maxBytes)) >= 0
  return dropKeptPublications(pool, retention, { condition: 'true', values: [] }, hasEnoughSpace)
}

/**
 * Drops the kept tables of those publications that meet the SQL condition, oldest first, until `isEnough` returns true.
 * `values` are the values of the condition's parameters. Skips a publication if its tables are locked, or read by a
 * user's view. Returns the number of publications that lost their kept tables.
 */
async function dropKeptPublications(
  pool: Pool,
  retention: RetentionPolicy,
  { condition, values }: { condition: string; values: unknown[] },
  isEnough: (client: ClientBase) => Promise<boolean> = async () => false,
): Promise<number> {
  const { rows } = await withClient(pool, undefined, (client) =>
    client.query<{ run: string }>(
      `select run from sluice.kept_table where ${condition} group by run order by min(kept_at)`,
      values,
    ),
  )
  let droppedCount = 0
  for (const { run } of rows) {
    const outcome = await withClient(pool, undefined, async (client) => {
      if (await isEnough(client)) return 'ENOUGH'
      await client.query(`begin; set local lock_timeout = '2s'; set local statement_timeout = '1min'`)
      await dropKeptTablesOfRun(client, retention, run)
      await client.query('commit')
      return 'DROPPED'
    }).catch(() => 'SKIPPED')
    if (outcome === 'ENOUGH') break
    if (outcome === 'DROPPED') droppedCount += 1
  }
  return droppedCount
}
