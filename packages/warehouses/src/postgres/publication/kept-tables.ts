import type { ClientBase, Pool } from 'pg'
import { WarehouseProblem } from '../../warehouse.ts'
import { withClient } from '../postgres-connections.ts'
import { qualified } from '../names.ts'
import { freeBytes } from '../server/database-limit.ts'

/** A table that a publication replaced. Its rows are in a detached partition; without one there was no table before. */
export interface KeptTable {
  schema: string
  table: string
  partition: string | null
}

/** The number of days for which replaced tables are kept, and the ledger's key. */
export interface RetentionPolicy {
  days: number
  ledgerKey: string
}

const kept = `schema_name as schema, table_name as "table", partition_name as partition`

/** Returns the runs with kept previous versions of these tables. */
async function findKeptRuns(
  client: ClientBase,
  tables: readonly { schema: string; table: string }[],
): Promise<string[]> {
  const { rows } = await client.query<{ run: string }>(
    `select distinct k.run from sluice.kept_table k
     join unnest($1::text[], $2::text[]) as given (schema_name, table_name) using (schema_name, table_name) order by 1`,
    [tables.map(({ schema }) => schema), tables.map(({ table }) => table)],
  )
  return rows.map(({ run }) => run)
}

async function forgetKept(client: ClientBase, { ledgerKey }: Pick<RetentionPolicy, 'ledgerKey'>, run: string) {
  const { rows } = await client.query<KeptTable>(`select ${kept} from sluice.forget_kept($1::text, $2::text)`, [
    ledgerKey,
    run,
  ])
  return rows
}

/**
 * Runs in the publishing transaction: keeps the tables that the run replaced, and discards those that the run before replaced.
 * Returns the partitions to drop after the commit. It keeps all tables of a run or none: if one was changed in place, the
 * previously kept tables stay.
 */
export async function keepReplaced(
  client: ClientBase,
  retention: RetentionPolicy,
  run: string,
  replaced: readonly (KeptTable & { inPlace: boolean })[],
): Promise<string[]> {
  if (replaced.some(({ inPlace }) => inPlace)) return replaced.flatMap(({ partition }) => partition ?? [])
  const forgotten: KeptTable[] = []
  for (const earlier of await findKeptRuns(client, replaced))
    forgotten.push(...(await forgetKept(client, retention, earlier)))
  const isFirst = replaced.every(({ partition }) => partition === null)
  const keeps = retention.days > 0 && !isFirst
  if (keeps) await keep(client, retention, run, replaced)
  return [...forgotten, ...(keeps ? [] : replaced)].flatMap(({ partition }) => partition ?? [])
}

async function keep(client: ClientBase, { ledgerKey }: RetentionPolicy, run: string, tables: readonly KeptTable[]) {
  for (const { schema, table, partition } of tables)
    await client.query('select sluice.keep_table($1::text, $2::text, $3::text, $4::text, $5::text)', [
      ledgerKey,
      run,
      schema,
      table,
      partition,
    ])
}

/**
 * Runs in the publishing transaction: returns the tables that are kept with this one, and ends their retention. Undefined if none
 * are kept.
 */
export async function takeKeptTables(
  client: ClientBase,
  retention: RetentionPolicy,
  place: { schema: string; table: string },
): Promise<KeptTable[] | undefined> {
  const found = await findKeptPublication(client, place)
  const tables = found && (await forgetKept(client, retention, found.run))
  return tables?.length ? tables.toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1)) : undefined
}

export const placeOf = ({ schema, table }: { schema: string; table: string }): string => qualified(schema, table)

/** Keeps what a restoring replaced, so that it can be restored in turn. */
export const keepRestored = keep

/** Returns the publication time of the rows that a restore would bring back, and the run that replaced them. */
export async function findKeptPublication(
  client: ClientBase,
  { schema, table }: { schema: string; table: string },
): Promise<{ run: string; publishedAt: Date } | undefined> {
  const { rows } = await client.query<{ run: string; publishedAt: Date }>(
    `select k.run, l.published_at as "publishedAt" from sluice.kept_table k
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

export function nothingKept(place: string): WarehouseProblem {
  return new WarehouseProblem(
    'NOTHING_TO_RESTORE',
    `Nothing is kept that could be restored to ${place}. What a load replaces is kept for KEEP_PREVIOUS_DAYS, unless the warehouse needs its room; increments replace nothing.`,
  )
}

/** Runs in the caller's transaction: drops the kept versions of these tables. */
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
  for (const { partition } of await forgetKept(client, retention, run))
    if (partition !== null) await client.query(`drop table if exists ${qualified('sluice', partition)}`)
}

/** Drops kept tables whose retention has expired. Returns the number of publications. */
export async function dropExpired(pool: Pool, retention: RetentionPolicy): Promise<number> {
  return dropEach(pool, retention, 'kept_at <= now() - make_interval(days => $1)', [retention.days])
}

/** Frees disk space by dropping kept tables, oldest first, until the database has at most this many bytes. */
export async function makeRoom(pool: Pool, retention: RetentionPolicy, mostBytes = 0): Promise<number> {
  return dropEach(pool, retention, 'true', [], async (client) => (await freeBytes(client, mostBytes)) >= 0)
}

/** Uses one transaction per publication. If a user's view reads its tables, they cannot be dropped now and stay. */
async function dropEach(
  pool: Pool,
  retention: RetentionPolicy,
  where: string,
  values: unknown[],
  until?: (client: ClientBase) => Promise<boolean>,
): Promise<number> {
  const runs = await withClient(pool, undefined, async (client) => {
    const { rows } = await client.query<{ run: string }>(
      `select run from sluice.kept_table where ${where} group by run order by min(kept_at)`,
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
