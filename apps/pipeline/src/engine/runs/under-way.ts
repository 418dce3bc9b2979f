import type { Kysely } from 'kysely'
import type { DB } from '../../database.ts'
import { underWay } from './states.ts'

/** The uids of a client's runs that are queued or running. */
export async function runsUnderWay(db: Kysely<DB>, client: string): Promise<Set<string>> {
  const rows = await db
    .selectFrom('runs')
    .select('uid')
    .where('client', '=', client)
    .where('state', 'in', [...underWay])
    .execute()
  return new Set(rows.map(({ uid }) => uid))
}
