import { commitWithoutFlush, prepared } from '@sluice/database'
import type { ColumnProfile, RowsProfile } from '@sluice/row-stream'
import type { ProfileReference } from '@sluice/warehouses/load-target'
import type { WarehouseTable } from '@sluice/warehouses/warehouse'
import { type Kysely, type Transaction, sql } from 'kysely'
import type { DB } from '../database.ts'
import type { Claim } from '../runs/claim-run.ts'
import { underWay } from '../runs/run-states.ts'

export interface TableProfile {
  run: string
  measuredAt: Date
  rows: number
  columns: ColumnProfile[]
}

/** The part of a column's profile that table lists contain. */
type ColumnStatistic = Pick<ColumnProfile, 'column' | 'nulls' | 'distinct' | 'min' | 'max'>

const statisticOf = ({ column, nulls, distinct, min, max }: ColumnProfile): ColumnStatistic => ({
  column,
  nulls,
  distinct,
  ...(min !== undefined && { min }),
  ...(max !== undefined && { max }),
})

interface ProfiledTable {
  schema: string
  table: string
}

/**
 * Stores the profile of the rows that an attempt has staged, and returns its id. Returns undefined, and stores nothing,
 * if the attempt has lost the lease or the schema no longer has profiles. The lock on the schema makes a request that
 * switches profiles off wait, and then delete this profile. The commit need not wait for the disk, because the heartbeat
 * before the publication does.
 */
export async function storeProfile(
  db: Kysely<DB>,
  { id, attempt, client }: Pick<Claim, 'id' | 'attempt' | 'client'>,
  { schema, table }: ProfiledTable,
  { rows, columns }: RowsProfile,
): Promise<string | undefined> {
  const stored = await sql<{ id: string }>`
    ${prepared('store-profile')}
    with leased_run as (
        select uid, ${commitWithoutFlush} from runs
        where id = ${id} and attempt = ${attempt} and state = 'RUNNING' for share),
      profiled_schema as (
        select id from schemas where client = ${client} and schema_name = ${schema} and profile_tables for share)
    insert into table_profiles (schema_id, table_name, run, rows, statistics, columns)
    select profiled_schema.id, ${table}, leased_run.uid, ${rows}, ${JSON.stringify(columns.map(statisticOf))}::json,
      ${JSON.stringify(columns)}::json
    from leased_run, profiled_schema
    returning id`.execute(db)
  return stored.rows[0]?.id
}

interface ReferringTable {
  schema: string
  name: string
  profile?: ProfileReference
}

/** Returns the profile that a table refers to. */
export async function findProfile(
  db: Kysely<DB>,
  client: string,
  table: ReferringTable,
): Promise<TableProfile | undefined> {
  const { rows } = await sql<TableProfile>`
    select p.run, p.measured_at as "measuredAt", p.rows::float8 as rows, p.columns
    ${referredProfiles(client, [table])}`.execute(db)
  return rows[0]
}

/** Returns the column statistics of tables, by the id of their profile. */
async function readStatistics(
  db: Kysely<DB>,
  client: string,
  tables: readonly ReferringTable[],
): Promise<Map<string, ColumnStatistic[]>> {
  const { rows } = await sql<{ id: string; statistics: ColumnStatistic[] }>`
    select p.id, p.statistics ${referredProfiles(client, tables)}`.execute(db)
  return new Map(rows.map(({ id, statistics }) => [id, statistics]))
}

/** Returns the FROM clause with the profiles to which an organisation's tables refer. */
function referredProfiles(client: string, tables: readonly ReferringTable[]) {
  const withProfile = tables.filter(({ profile }) => profile !== undefined)
  return sql`
    from unnest(${withProfile.map(({ profile }) => profile!.id)}::uuid[], ${withProfile.map(({ schema }) => schema)}::text[],
        ${withProfile.map(({ name }) => name)}::text[]) as n (id, schema, name)
    join table_profiles p on p.id = n.id and p.table_name = n.name
    join schemas s on s.id = p.schema_id and s.client = ${client} and s.schema_name = n.schema`
}

/** The statistics of a table's columns, by column name. */
export type ColumnStatistics = ReadonlyMap<string, ColumnStatistic>

/**
 * Reads the column statistics of tables from their profiles. Returns a function that returns the statistics of one of
 * the tables. A profile of only a part of the rows does not count, because it does not describe the table.
 */
export async function readColumnStatistics(
  db: Kysely<DB>,
  client: string,
  tables: readonly WarehouseTable[],
): Promise<(table: WarehouseTable) => ColumnStatistics> {
  const hasFullProfile = ({ profile }: WarehouseTable) => profile?.scope === 'TABLE'
  const profiledTables = tables.filter(hasFullProfile)
  const statisticsByProfile =
    profiledTables.length > 0 ? await readStatistics(db, client, profiledTables) : new Map<string, ColumnStatistic[]>()
  return (table) => {
    const statistics = hasFullProfile(table) ? (statisticsByProfile.get(table.profile!.id) ?? []) : []
    return new Map(statistics.map((statistic) => [statistic.column, statistic]))
  }
}

/** Returns the statistics without minimum and maximum, for callers who may not read the rows. */
export const omitValues = (statistics: ColumnStatistics): ColumnStatistics =>
  new Map([...statistics].map(([name, { column, nulls, distinct }]) => [name, { column, nulls, distinct }]))

/**
 * For each table, the profiles of this number of publications are kept: that of the current rows, that of the rows that
 * a restore would publish, and one more. The latter is needed because after a restore the current rows can be older
 * than the rows that they replaced.
 */
const keptPublications = 3

/**
 * Marks the profiles of a run as published, so that they are kept. For each table of the run, deletes the profiles of
 * all publications except the last `keptPublications`.
 */
export async function keepPublishedProfiles(trx: Transaction<DB>, run: string): Promise<void> {
  // The statement does not see its own update, so `published_profile` adds the profiles of this run explicitly. A run
  // can have several profiles of a table. They have the same rank, which is 1 for the latest publication.
  await sql`
    ${prepared('keep-published-profiles')}
    with marked as (update table_profiles set published = true where run = ${run}),
    loaded_table as (select distinct schema_id, table_name from table_profiles where run = ${run}),
    published_profile as (
      select profile.id, dense_rank() over (
        partition by profile.schema_id, profile.table_name order by publication.time desc, profile.run) as rank
      from table_profiles profile
      join loaded_table using (schema_id, table_name)
      cross join lateral (
        select max(other.measured_at) as time from table_profiles other
        where other.schema_id = profile.schema_id and other.table_name = profile.table_name
          and other.run = profile.run) publication
      where profile.published or profile.run = ${run})
    delete from table_profiles profile using published_profile
    where profile.id = published_profile.id and profile.run <> ${run}
      and published_profile.rank > ${keptPublications}`.execute(trx)
}

/**
 * Deletes the profiles of runs that have ended without publishing. Returns their number. Profiles of a cancelled run
 * are kept for a day, because it may turn out later that the run published its rows.
 */
export async function deleteUnpublishedProfiles(db: Kysely<DB>): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from table_profiles p where not p.published and not exists (
      select from runs r where r.uid = p.run and (r.state = any(${[...underWay]}::text[])
        or r.state = 'CANCELLED' and r.finished_at > now() - interval '1 day'))`.execute(db)
  return Number(numAffectedRows ?? 0)
}

/**
 * Deletes the profiles of a schema for which profiles were disabled. The caller must hold a lock on the schema, for
 * which `storeProfile` waits.
 */
export async function deleteProfilesOfSchema(trx: Transaction<DB>, schemaId: number): Promise<void> {
  await trx.deleteFrom('table_profiles').where('schema_id', '=', schemaId).execute()
}

/** Deletes the profiles of a table and of the additional tables of its pipeline, unless another pipeline owns these. */
export async function deleteProfiles(
  trx: Transaction<DB>,
  { client, schema, table }: ProfiledTable & { client: string },
): Promise<void> {
  const isOwnedByPipeline = sql`exists (
    select from data_pipelines pipeline
    where pipeline.schema_id = schema.id and pipeline.table_name = profile.table_name)`
  await sql`
    delete from table_profiles profile using schemas schema
    where schema.id = profile.schema_id and schema.client = ${client} and schema.schema_name = ${schema} and (
      profile.table_name = ${table}
      or (starts_with(profile.table_name, ${`${table}__`}) and not ${isOwnedByPipeline}))`.execute(trx)
}
