import { sql } from 'kysely'
import { auditing, prepared } from '@sluice/database'
import { prefixOf } from './addresses.ts'
import { refreshTokenKept } from './refresh-tokens.ts'
import type { SignedIn, SignInContext } from './sign-in.ts'
import { tryForgiven, type Attempt } from './throttle.ts'

interface Opened {
  id: number
  uid: string
  expires_at: Date
  user: string
  client: string
}

/**
 * Opens the session of whoever needs no more than their password, in one statement instead of a transaction of seven: the
 * user is locked and looked at once more, so that a password or status that changed while we checked is not overlooked.
 * Undefined: nothing was done, because more is asked of them, or they may no longer sign in.
 */
export async function openAtOnce(
  { id, password_hash }: { id: number; password_hash: string | null },
  attempt: Attempt,
  { write, config, request, refreshToken }: SignInContext,
): Promise<SignedIn | undefined> {
  if (refreshToken === undefined) return undefined
  return write.atOnce(async (db, facts) => {
    const { rows } = await sql<Opened>`
      ${prepared('open-at-once')}
      with signing_in as (
        select u.id, u.uid, u.client, u.roles from users u join clients c on c.uid = u.client
        where u.id = ${id} and u.password_hash = ${password_hash} and u.status = 'ACTIVE' and not c.disabled
          and not u.two_factor_auth
        for share of u
      ), opened as (
        insert into sessions (user_id, client, expires_at, idle_hours, roles_at_issue, address, address_prefix, user_agent, amr)
        select id, client, now() + make_interval(days => ${config.SESSION_DAYS}), ${config.SESSION_IDLE_HOURS}::integer, roles,
          ${request.address}, ${prefixOf(request.address)}, ${request.userAgent.slice(0, 500)}, '{pwd}'::text[]
        from signing_in returning id, uid, expires_at
      ), kept as (${refreshTokenKept(refreshToken, sql`opened`)}),
      ${tryForgiven(attempt, sql`exists (select from opened)`)},
      audited as (
        ${auditing(
          facts,
          sql`
            select s.uid, s.client, s.uid::text, jsonb_build_object('outcome', 'signed in', 'session', opened.uid)
            from signing_in s, opened`,
        )}
      )
      select opened.id, opened.uid, opened.expires_at, s.uid as "user", s.client from signing_in s, opened`.execute(db)
    const [found] = rows
    if (!found) return undefined
    const { user, client, ...session } = found
    return { kind: 'signed-in', user: { uid: user, id, client }, session, amr: ['pwd'] }
  })
}
