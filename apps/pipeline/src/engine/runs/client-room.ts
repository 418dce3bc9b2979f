import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'

/**
 * Whether the client of this run may have one more at work. The queue keeps to the limit only nearly: workers that wake
 * at the same moment each count before the others have taken theirs. So claims of one client go one after the other:
 * until the caller's transaction ends. Runs without a pulse for a minute do not count.
 */
export async function clientHasRoom(trx: Transaction<DB>, uid: string, most: number): Promise<boolean> {
  const run = await trx.selectFrom('runs').select(['id', 'client']).where('uid', '=', uid).executeTakeFirst()
  if (!run) return true
  await sql`select pg_advisory_xact_lock(hashtext(${`runs of ${run.client}`}))`.execute(trx)
  const { count } = await trx
    .selectFrom('runs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('client', '=', run.client)
    .where('id', '<>', run.id)
    .where('state', '=', 'RUNNING')
    .where('heartbeat_at', '>', sql<Date>`now() - interval '1 minute'`)
    .executeTakeFirstOrThrow()
  return count < most
}
