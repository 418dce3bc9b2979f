import { sql, type Kysely } from 'kysely'
import { addAuditMonths } from '@sluice/database'
import type { Logger } from '@sluice/process'
import type { DB } from './database.ts'
import { forgetMails } from './mail/outbox.ts'
import { forgetForgotten } from './sign-in/forgotten.ts'
import { forgetLinks } from './sign-in/links.ts'
import { sweepOidcModels } from './oidc/sweep.ts'
import { forgetApiTokens } from './sign-in/api-tokens.ts'
import { forgetSsoSignIns } from './sign-in/federated/forget.ts'
import { tendKeys, type KeyRotation } from './sign-in/key-rotation.ts'
import { endIdleSessions } from './sign-in/sessions.ts'
import { forgetTickets } from './sign-in/second-factor/tickets.ts'

const hour = 3_600_000
/** Any number that no other advisory lock of this service uses. */
const lock = 7_314_512

/** Days that an ended or expired session is kept, for the list of sessions and for recognising reused tokens. */
const sessionsKept = 30

/** Clears away what nobody needs any more, now and every hour, in one process at a time. */
export function keepHouse(db: Kysely<DB>, logger: Logger, keys: KeyRotation): { stop(): Promise<void> } {
  let work: Promise<unknown> = Promise.resolve()
  const run = () => {
    work = everything(db, keys).catch((error: unknown) =>
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

async function everything(db: Kysely<DB>, keys: KeyRotation): Promise<void> {
  await keepHouseOnce(db)
  await tendKeys(db, keys)
  await sweepOidcModels(db)
}

export async function keepHouseOnce(db: Kysely<DB>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ mine: boolean }>`select pg_try_advisory_xact_lock(${lock}) as mine`.execute(trx)
    if (!rows[0]?.mine) return
    await addAuditMonths(trx, new Date())
    await sql`delete from sign_in_attempts where last_at < now() - interval '1 day'`.execute(trx)
    await endIdleSessions(trx)
    await forgetSessions(trx)
    await forgetLinks(trx)
    await forgetForgotten(trx)
    await forgetMails(trx)
    await forgetTickets(trx)
    await forgetApiTokens(trx)
    await forgetSsoSignIns(trx)
  })
}

/** Users before sessions, as everywhere; who ended a session once has seen the introduction. */
async function forgetSessions(trx: Kysely<DB>): Promise<void> {
  const old = sql`coalesce(ended_at, expires_at) < now() - make_interval(days => ${sessionsKept})`
  await sql`
    update users u set service_intro = false, last_signed_in_at = greatest(u.last_signed_in_at, forgotten.at)
    from (select user_id, max(created_at) as at from sessions where ${old} group by user_id) as forgotten
    where forgotten.user_id = u.id`.execute(trx)
  await sql`delete from sessions where ${old}`.execute(trx)
}
