import { type Kysely, sql } from 'kysely'
import { type AuditFacts, auditingEach, prepared } from '@sluice/database'
import type { DB } from '../database.ts'
import { secretHash } from '../secret-hash.ts'
import { prefixOf } from './network-prefix.ts'
import { inCrowd } from './micro-batcher.ts'
import { refreshTokensKept } from './refresh-tokens.ts'
import type { SessionLives } from './sessions.ts'
import { type Attempt, triesForgiven } from './throttle.ts'
import { countingTries } from './count-attempt.ts'

/** A sign-in whose password was right. */
interface Opening {
  user: number
  /** The one that was checked. */
  passwordHash: string | null
  attempt: Attempt
  facts: AuditFacts
  /** At most 500 characters. */
  userAgent: string
  refreshToken: string
}

export interface OpenedAtOnce {
  id: number
  uid: string
  expires_at: Date
  user: string
  client: string
}

/**
 * Undefined: nothing was done, because more is asked of them, they may no longer sign in, or somebody is changing them or their
 * client at this moment, for which others do not wait.
 */
export type OpenAtOnce = (opening: Opening) => Promise<OpenedAtOnce | undefined>

/**
 * Opens the sessions of those who need no more than their password, in one statement instead of a transaction of seven each:
 * the user is locked and looked at once more, so that a password or status that changed while we checked is not overlooked. The
 * client is locked as the session's reference to it would, only before anything is written and without waiting.
 *
 * In a crowd several go into one statement: who waits for company does so for 50 ms at most, about what the next few passwords
 * take.
 */
export const openingAtOnce = (db: Kysely<DB>, lives: SessionLives): OpenAtOnce =>
  inCrowd({ patience: 50, ask: (all) => openAll(db, lives, all) })

async function openAll(
  db: Kysely<DB>,
  lives: SessionLives,
  all: readonly Opening[],
): Promise<(OpenedAtOnce | undefined)[]> {
  const hashes = all.map(({ refreshToken }) => secretHash(refreshToken))
  const { rows } = await sql<OpenedAtOnce & { token_hash: Buffer }>`
    ${prepared('open-at-once')}
    with asked as (
      select * from unnest(
        ${all.map(({ user }) => user)}::bigint[], ${all.map(({ passwordHash }) => passwordHash)}::text[],
        ${hashes}::bytea[],
        ${all.map(({ attempt }) => attempt.network)}::text[], ${all.map(({ attempt }) => attempt.account)}::text[],
        ${all.map(({ facts }) => facts.operation)}::text[], ${all.map(({ facts }) => facts.requestId)}::text[],
        ${all.map(({ facts }) => facts.address)}::text[], ${all.map(({ facts }) => prefixOf(facts.address))}::text[],
        ${all.map(({ userAgent }) => userAgent)}::text[]
      ) as asked (user_id, password_hash, token_hash, network, account, operation, request_id, address, address_prefix, user_agent)
    ), signing_in as materialized (
      select asked.*, gen_random_uuid() as session, who.* from asked cross join lateral (
        select u.uid as user, u.client, u.roles from users u join clients c on c.uid = u.client
        where u.id = asked.user_id and u.password_hash = asked.password_hash and u.status = 'ACTIVE' and not c.disabled
          and not u.two_factor_auth
        for share of u skip locked for key share of c skip locked
      ) as who
    ), opened as (
      insert into sessions (uid, user_id, client, expires_at, idle_hours, roles_at_issue, address, address_prefix, user_agent, amr)
      select session, user_id, client, now() + make_interval(days => ${lives.SESSION_DAYS}), ${lives.SESSION_IDLE_HOURS}::integer,
        roles, address, address_prefix, user_agent, '{pwd}'::text[]
      from signing_in returning id, uid, expires_at
    ), kept as (
      ${refreshTokensKept(sql`token_hash`, sql`opened join signing_in on session = opened.uid`)}
    ), ${triesForgiven(sql`signing_in`)},
    audited as (
      ${auditingEach(sql`
        select operation, "user", client, "user"::text, request_id, address,
          jsonb_build_object('outcome', 'signed in', 'session', session)
        from signing_in`)}
    )
    select token_hash, opened.id, opened.uid, opened.expires_at, "user", client
    from opened join signing_in on session = opened.uid`.execute(db)
  const byToken = new Map(rows.map(({ token_hash, ...opened }) => [token_hash.toString('base64url'), opened]))
  return hashes.map((hash) => byToken.get(hash.toString('base64url')))
}

/** What sign-ins that come in a crowd do in statements that they share. */
export type Together = ReturnType<typeof signingInTogether>

export const signingInTogether = (db: Kysely<DB>, lives: SessionLives) => ({
  count: countingTries(db),
  open: openingAtOnce(db, lives),
})
