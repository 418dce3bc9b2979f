import { type Kysely, sql } from 'kysely'
import type { DB } from '../database.ts'
import { underWay } from './run-states.ts'

/**
 * Days for which the staging tables of failed loads and the files of runs are kept, if the organisation's settings
 * require it.
 */
export const keptDays = 7

/**
 * Returns the uids of an organisation's runs that still need their staging tables: queued and running runs. If the
 * organisation retains staging tables (DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES), also runs that failed within the
 * last seven days.
 */
export async function listRunsToKeep(db: Kysely<DB>, client: string): Promise<Set<string>> {
  const runUids = await listActiveRuns(db, client)
  const { rows } = await sql<{ uid: string }>`
    select uid from runs
    where client = ${client} and state = 'FAILED' and finished_at > now() - make_interval(days => ${keptDays}::int)
      and exists (select from settings where client = ${client}
        and key = 'DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES' and value = 'RETAIN')`.execute(db)
  for (const { uid } of rows) runUids.add(uid)
  return runUids
}

/** Returns the uids of an organisation's queued and running runs. */
async function listActiveRuns(db: Kysely<DB>, client: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('runs')
    .select('uid')
    .where('client', '=', client)
    .where('state', 'in', [...underWay])
    .execute()
  return new Set(rows.map(({ uid }) => uid))
}
