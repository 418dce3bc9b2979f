import { type Kysely, sql } from 'kysely'
import type { DB } from '../../database.ts'
import { underWay } from './states.ts'

/** How long what a failed load leaves is kept at most, and what a run read, where its client wants that. */
export const keptDays = 7

/**
 * The uids of a client's runs whose staging tables stay: those that are queued or running, and, where the client's setting says
 * RETAIN, those that failed within the last days.
 */
export async function runsToKeep(db: Kysely<DB>, client: string): Promise<Set<string>> {
  const kept = await runsUnderWay(db, client)
  const { rows } = await sql<{ uid: string }>`
    select uid from runs
    where client = ${client} and state = 'FAILED' and finished_at > now() - make_interval(days => ${keptDays}::int)
      and exists (select from settings where client = ${client}
        and key = 'DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES' and value = 'RETAIN')`.execute(db)
  for (const { uid } of rows) kept.add(uid)
  return kept
}

/** The uids of a client's runs that are queued or running. */
async function runsUnderWay(db: Kysely<DB>, client: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('runs')
    .select('uid')
    .where('client', '=', client)
    .where('state', 'in', [...underWay])
    .execute()
  return new Set(rows.map(({ uid }) => uid))
}
