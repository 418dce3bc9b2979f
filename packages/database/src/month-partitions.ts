import { type Kysely, sql } from 'kysely'

/** A table that is partitioned by month of a timestamp, with a partition `<table>_default` for all other rows. */
export interface MonthlyTable {
  table: string
  /** The timestamp column that determines a row's month. */
  column: string
}

/** The number of months that have partitions in advance, including the current one. */
const monthsInAdvance = 3

/**
 * Adds the missing partitions for the current month and the next two (UTC). Returns the number of added partitions.
 * Skips a month that has rows in the default partition, because rows are never moved.
 */
export async function addMonthPartitions(db: Kysely<any>, table: MonthlyTable, now: Date): Promise<number> {
  let added = 0
  for (let offset = 0; offset < monthsInAdvance; offset += 1) {
    const month = { start: monthStart(now, offset), end: monthStart(now, offset + 1) }
    if (await addPartition(db, table, month)) added += 1
  }
  return added
}

/** Drops the partitions of months that ended at or before `before`. Returns the number of dropped partitions. */
export async function dropMonthPartitions(db: Kysely<any>, { table }: MonthlyTable, before: Date): Promise<number> {
  const names = await listMonthPartitions(db, table)
  const expiredNames = names.filter((name) => getPartitionEnd(name) <= before.getTime())
  for (const name of expiredNames) await sql`drop table ${sql.table(name)}`.execute(db)
  return expiredNames.length
}

/** Returns the names of the partitions for months, such as `audit_2026_01`, oldest first. */
async function listMonthPartitions(db: Kysely<any>, table: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select partition.relname as name
    from pg_inherits as inheritance join pg_class as partition on partition.oid = inheritance.inhrelid
    where inheritance.inhparent = ${table}::regclass and partition.relname ~ ${`^${table}_\\d{4}_\\d{2}$`}
    order by name`.execute(db)
  return rows.map(({ name }) => name)
}

/** Returns the end of the month in a partition's name, as Unix milliseconds. */
function getPartitionEnd(name: string): number {
  const [year, month] = name.slice(-'2026_01'.length).split('_').map(Number)
  // The month in the name counts from 1, and `Date.UTC` counts from 0. So this is the first day of the next month.
  return Date.UTC(year!, month!, 1)
}

/** Returns the first instant of the month that is `offset` months after the month of `now`. */
const monthStart = (now: Date, offset: number): Date =>
  new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1))

/**
 * Adds the partition for one month. Returns false, and adds nothing, if the partition exists or the default partition
 * has rows of that month.
 */
async function addPartition(
  db: Kysely<any>,
  { table, column }: MonthlyTable,
  { start, end }: { start: Date; end: Date },
): Promise<boolean> {
  const name = `${table}_${start.toISOString().slice(0, 7).replace('-', '_')}`
  // The default partition is only searched if the partition does not exist.
  const { rows } = await sql<{ can_add: boolean }>`
    select to_regclass(${name}) is null and not exists (
      select from ${sql.table(`${table}_default`)} where ${sql.ref(column)} >= ${start} and ${sql.ref(column)} < ${end}
    ) as can_add
  `.execute(db)
  if (!rows[0]?.can_add) return false
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
