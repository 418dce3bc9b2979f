import { sql, type Kysely } from 'kysely'

/**
 * Gives the service's `audit` a partition for this month and each of the next two, by UTC. A month of which rows went
 * into the default partition before stays there: audit rows are never moved. Answers how many it made.
 */
export async function addAuditMonths(db: Kysely<any>, now: Date): Promise<number> {
  let made = 0
  for (let ahead = 0; ahead < 3; ahead += 1) if (await addMonth(db, monthFrom(now, ahead))) made += 1
  return made
}

function monthFrom(now: Date, ahead: number): [start: Date, end: Date] {
  const start = (months: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1))
  return [start(ahead), start(ahead + 1)]
}

async function addMonth(db: Kysely<any>, [start, end]: [Date, Date]): Promise<boolean> {
  const name = `audit_${start.toISOString().slice(0, 7).replace('-', '_')}`
  const { rows } = await sql<{ needed: boolean }>`
    select to_regclass(${name}) is null and not exists (
      select from audit_default where at >= ${start} and at < ${end}) as needed
  `.execute(db)
  if (!rows[0]?.needed) return false
  await sql`
    create table if not exists ${sql.table(name)} partition of audit
      for values from (${sql.lit(start.toISOString())}) to (${sql.lit(end.toISOString())})
  `.execute(db)
  return true
}
