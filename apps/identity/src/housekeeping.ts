import { sql, type Kysely } from 'kysely'
import { addAuditMonths } from '@sluice/database'
import type { Logger } from '@sluice/process'
import type { DB } from './database.ts'

const hour = 3_600_000
/** Any number that no other advisory lock of this service uses. */
const lock = 7_314_512

/** Days that an ended or expired session is kept, for the list of sessions and for recognising reused tokens. */
const sessionsKept = 30

/** Clears away what nobody needs any more, now and every hour, in one process at a time. */
export function keepHouse(db: Kysely<DB>, logger: Logger): { stop(): Promise<void> } {
  let work: Promise<unknown> = Promise.resolve()
  const run = () => {
    work = keepHouseOnce(db).catch((error: unknown) =>
      logger.warn({ err: error }, 'housekeeping failed; it is tried again in an hour'),
    )
  }
  run()
  const timer = setInterval(run, hour).unref()
  return {
    async stop() {
      clearInterval(timer)
      await work
    },
  }
}

export async function keepHouseOnce(db: Kysely<DB>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${lock}) as mine`.execute(trx)
    if (!rows[0]?.mine) return
    await addAuditMonths(trx, new Date())
    await sql`delete from sign_in_attempts where last_at < now() - interval '1 day'`.execute(trx)
    await forgetSessions(trx)
  })
}

/** Users before sessions, as everywhere; who ended a session once has seen the introduction. */
async function forgetSessions(trx: Kysely<DB>): Promise<void> {
  const old = sql`coalesce(ended_at, expires_at) < now() - make_interval(days => ${sessionsKept})`
  await sql`
    update users set service_intro = false
    where service_intro and id in (select user_id from sessions where ${old})`.execute(trx)
  await sql`delete from sessions where ${old}`.execute(trx)
}
