import type { ClientBase, Pool } from 'pg'
import { WarehouseProblem } from '../../warehouse.ts'
import { withClient } from '../postgres-connections.ts'
import { qualifyName } from '../names.ts'
import { freeBytes } from '../server/database-size-limit.ts'

/**
 * A version of a table that a publication replaced, kept for undo. Its rows are in a detached partition. null means
 * that the table did not exist before.
 */
export interface ReplacedTable {
  schema: string
  table: string
  partition: string | null
}

/**
 * The number of days for which replaced tables are kept, and the key for writing to the ledger (Sluice's table of
 * loads).
 */
export interface RetentionPolicy {
  days: number
  ledgerKey: string
}

const keptColumns = `schema_name as schema, table_name as "table", partition_name as partition`

/** Selects the runs that replaced the kept versions of the given tables. */
const selectKeptRuns = `select distinct k.run from sluice.kept_table k
  join unnest($1::text[], $2::text[]) as given (schema_name, table_name) using (schema_name, table_name) order by 1`

/** Returns the runs that replaced the kept versions of these tables. */
async function findKeptRuns(
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
 * Removes the kept versions of these tables from the list of kept tables, together with all other tables of the same
 * publications. Returns them.
 */
async function takeKeptRunsOf(
  client: ClientBase,
  { ledgerKey }: RetentionPolicy,
  tables: readonly { schema: string; table: string }[],
): Promise<ReplacedTable[]> {
  const { rows } = await client.query<ReplacedTable>(
    `select ${keptColumns} from (${selectKeptRuns}) replaced, sluice.forget_kept($3::text, replaced.run)`,
    [tables.map(({ schema }) => schema), tables.map(({ table }) => table), ledgerKey],
  )
  return rows
}

async function takeKeptRun(client: ClientBase, { ledgerKey }: Pick<RetentionPolicy, 'ledgerKey'>, run: string) {
  const { rows } = await client.query<ReplacedTable>(
    `select ${keptColumns} from sluice.forget_kept($1::text, $2::text)`,
    [ledgerKey, run],
  )
  return rows
}

/**
 * Records, in the publishing transaction, that the replaced tables are kept for undo. They take the place of earlier
 * kept versions. Returns the partitions to drop after the commit. A publication is kept completely or not at all: if it
 * changed one table in place, the earlier kept versions stay.
 */
export async function keepReplaced(
  client: ClientBase,
  retention: RetentionPolicy,
  run: string,
  replaced: readonly (ReplacedTable & { inPlace: boolean })[],
): Promise<string[]> {
  if (replaced.some(({ inPlace }) => inPlace)) return replaced.flatMap(({ partition }) => partition ?? [])
  const forgotten = await takeKeptRunsOf(client, retention, replaced)
  const isFirst = replaced.every(({ partition }) => partition === null)
  const keeps = retention.days > 0 && !isFirst
  if (keeps) await keepTables(client, retention, run, replaced)
  return [...forgotten, ...(keeps ? [] : replaced)].flatMap(({ partition }) => partition ?? [])
}

async function keepTables(
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
 * Removes the kept tables of the publication that last replaced this table from the list of kept tables, and returns
 * them. Otherwise returns undefined.
 */
export async function takeKeptTables(
  client: ClientBase,
  retention: RetentionPolicy,
  place: { schema: string; table: string },
): Promise<ReplacedTable[] | undefined> {
  const keptPublication = await findKeptPublication(client, place)
  const tables = keptPublication && (await takeKeptRun(client, retention, keptPublication.run))
  return tables?.length ? tables.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1)) : undefined
}

export const placeOf = ({ schema, table }: { schema: string; table: string }): string => qualifyName(schema, table)

/** Keeps the tables that a restore replaced, so that the restore can be undone. */
export const keepRestored = keepTables

/**
 * Finds the rows of this table that its last publication replaced and kept. Returns the run that published them, the
 * time of that publication, and the run that replaced them.
 */
export async function findKeptPublication(
  client: ClientBase,
  { schema, table }: { schema: string; table: string },
): Promise<{ run: string; publishedBy: string; publishedAt: Date } | undefined> {
  const { rows } = await client.query<{ run: string; publishedBy: string; publishedAt: Date }>(
    `select k.run, l.run as "publishedBy", l.published_at as "publishedAt" from sluice.kept_table k
     join lateral (
       select t.run from sluice.ledger_table t where t.partition_name = k.partition_name order by t.entered desc limit 1
     ) last on true
     join sluice.ledger l on l.run = last.run
     where k.schema_name = $1 and k.table_name = $2
       and not exists (
         select from sluice.kept_table o where o.run = k.run and o.partition_name is not null
           and to_regclass(format('sluice.%I', o.partition_name)) is null)`,
    [schema, table],
  )
  return rows[0]
}

export function nothingKept(qualifiedName: string): WarehouseProblem {
  return new WarehouseProblem(
    'NOTHING_TO_RESTORE',
    `No earlier version of ${qualifiedName} is available. Replaced tables are kept for KEEP_PREVIOUS_DAYS, or less if the disk is full; incremental loads (MERGE) keep none.`,
  )
}

/** Drops the kept versions of these tables within the caller's transaction. */
export async function dropKeptOf(
  client: ClientBase,
  retention: Pick<RetentionPolicy, 'ledgerKey'>,
  tables: readonly { schema: string; table: string }[],
): Promise<void> {
  for (const run of await findKeptRuns(client, tables)) await dropKept(client, retention, run)
}

/** Drops the kept versions of all tables of a schema. */
export async function dropKeptIn(client: ClientBase, retention: Pick<RetentionPolicy, 'ledgerKey'>, schema: string) {
  const { rows } = await client.query<{ run: string }>(
    'select distinct run from sluice.kept_table where schema_name = $1',
    [schema],
  )
  for (const { run } of rows) await dropKept(client, retention, run)
}

async function dropKept(client: ClientBase, retention: Pick<RetentionPolicy, 'ledgerKey'>, run: string): Promise<void> {
  for (const { partition } of await takeKeptRun(client, retention, run))
    if (partition !== null) await client.query(`drop table if exists ${qualifyName('sluice', partition)}`)
}

/** Drops kept tables after `retention.days` days. Returns the number of publications that lost their kept tables. */
export async function dropExpired(pool: Pool, retention: RetentionPolicy): Promise<number> {
  return dropEach(pool, retention, 'kept_at <= now() - make_interval(days => $1)', [retention.days])
}

/**
 * Drops kept tables, oldest first, until the database has at most `maxBytes` bytes. Returns the number of publications
 * that lost their kept tables.
 */
export async function makeRoom(pool: Pool, retention: RetentionPolicy, maxBytes = 0): Promise<number> {
  return dropEach(pool, retention, 'true', [], async (client) => (await freeBytes(client, maxBytes)) >= 0)
}

/**
 * Drops the kept tables of each publication in its own transaction. Tables that a user's view reads are not dropped.
 */
async function dropEach(
  pool: Pool,
  retention: RetentionPolicy,
  condition: string,
  values: unknown[],
  until?: (client: ClientBase) => Promise<boolean>,
): Promise<number> {
  const runs = await withClient(pool, undefined, async (client) => {
    const { rows } = await client.query<{ run: string }>(
      `select run from sluice.kept_table where ${condition} group by run order by min(kept_at)`,
      values,
    )
    return rows.map(({ run }) => run)
  })
  let dropped = 0
  for (const run of runs) {
    const outcome = await withClient(pool, undefined, async (client) => {
      if (await until?.(client)) return 'ENOUGH'
      await client.query(`begin; set local lock_timeout = '2s'; set local statement_timeout = '1min'`)
      await dropKept(client, retention, run)
      await client.query('commit')
      return 'DROPPED'
    }).catch(() => 'STAYS')
    if (outcome === 'ENOUGH') break
    if (outcome === 'DROPPED') dropped += 1
  }
  return dropped
}
