import { type Kysely, sql } from 'kysely'

/** A table that is partitioned by month of a timestamp, with a partition `<table>_default` for all other rows. */
export interface MonthlyTable {
  table: string
  /** The timestamp column that determines a row's month. */
  column: string
}

/**
 * Adds the partitions for the current month and the next two (UTC). Returns the number of added partitions. Skips a
 * month with rows in the default partition, because rows are never moved.
 */
export async function addMonthPartitions(db: Kysely<any>, table: MonthlyTable, now: Date): Promise<number> {
  let added = 0
  for (let ahead = 0; ahead < 3; ahead += 1) if (await addMonth(db, table, monthFrom(now, ahead))) added += 1
  return added
}

/** Drops the partitions of months that ended before `before`. Returns the number of dropped partitions. */
export async function dropMonthPartitions(db: Kysely<any>, { table }: MonthlyTable, before: Date): Promise<number> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = ${table}::regclass and c.relname ~ ${`^${table}_\\d{4}_\\d{2}$`}
    order by 1`.execute(db)
  const expired = rows.filter(({ name }) => {
    const [year, month] = name.slice(-7).split('_').map(Number)
    return Date.UTC(year!, month!, 1) <= before.getTime()
  })
  for (const { name } of expired) await sql`drop table ${sql.table(name)}`.execute(db)
  return expired.length
}

function monthFrom(now: Date, ahead: number): [start: Date, end: Date] {
  const start = (months: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1))
  return [start(ahead), start(ahead + 1)]
}

async function addMonth(
  db: Kysely<any>,
  { table, column }: MonthlyTable,
  [start, end]: [Date, Date],
): Promise<boolean> {
  const name = `${table}_${start.toISOString().slice(0, 7).replace('-', '_')}`
  const { rows } = await sql<{ needed: boolean }>`
    select to_regclass(${name}) is null and not exists (
      select from ${sql.table(`${table}_default`)} where ${sql.ref(column)} >= ${start} and ${sql.ref(column)} < ${end}
    ) as needed
  `.execute(db)
  if (!rows[0]?.needed) return false
  await sql`
    create table if not exists ${sql.table(name)} partition of ${sql.table(table)}
      for values from (${sql.lit(start.toISOString())}) to (${sql.lit(end.toISOString())})
  `.execute(db)
  return true
}

/** Adds the next monthly partitions of a service's `audit` table. */
export function addAuditPartitions(db: Kysely<any>, now: Date): Promise<number> {
  return addMonthPartitions(db, { table: 'audit', column: 'at' }, now)
}
