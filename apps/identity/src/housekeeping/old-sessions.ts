import { sql, type Kysely } from 'kysely'
import { transaction } from '@sluice/database'
import type { DB } from '../database.ts'
import { inBatches } from './in-batches.ts'

/** Days that an ended or expired session is kept, for the list of sessions and for recognising reused tokens. */
const sessionsKept = 30
/** Fewer than elsewhere, because refresh tokens and what applications hold go with each. */
const size = 200

/** Removes sessions that ended long ago. Answers how many. */
export const forgetSessions = (db: Kysely<DB>, signal?: AbortSignal): Promise<number> =>
  inBatches((most) => transaction(db, (trx) => forgetSome(trx, most)), { signal, size })

/** Users before sessions, as everywhere; who ended a session once has seen the introduction. */
async function forgetSome(trx: Kysely<DB>, most: number): Promise<number> {
  const { rows } = await sql<{ id: number; user_id: number }>`
    select id, user_id from sessions where coalesce(ended_at, expires_at) < now() - make_interval(days => ${sessionsKept})
    order by coalesce(ended_at, expires_at) limit ${most}`.execute(trx)
  if (rows.length === 0) return 0
  const [ids, users] = [rows.map(({ id }) => id), rows.map(({ user_id }) => user_id)]
  await sql`select from users where id = any(${users}) order by id for no key update`.execute(trx)
  await sql`
    update users u set service_intro = false, last_signed_in_at = greatest(u.last_signed_in_at, forgotten.at)
    from (select user_id, max(created_at) as at from sessions where id = any(${ids}) group by user_id) as forgotten
    where forgotten.user_id = u.id and (u.service_intro or u.last_signed_in_at is null or u.last_signed_in_at < forgotten.at)`.execute(
    trx,
  )
  await sql`delete from sessions where id = any(${ids})`.execute(trx)
  return rows.length
}
