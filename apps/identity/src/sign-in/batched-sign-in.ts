import { type Kysely, sql } from 'kysely'
import { type AuditContext, auditInsertForEach, prepared } from '@sluice/database'
import type { DB } from '../database.ts'
import { secretHash } from '../secret-hash.ts'
import { networkPrefixOf } from './network-prefix.ts'
import { batchUnderLoad } from './micro-batcher.ts'
import { insertRefreshTokensSql } from './refresh-tokens.ts'
import type { SessionLives } from './sessions.ts'
import { type ThrottleKeys, forgiveAttemptsSql } from './throttle.ts'
import { attemptCounter } from './count-attempt.ts'

/** A sign-in with a verified password. */
interface SessionRequest {
  user: number
  /** The hash that the password was verified against. */
  passwordHash: string | null
  attempt: ThrottleKeys
  facts: AuditContext
  /** At most 500 characters. */
  userAgent: string
  refreshToken: string
}

export interface OpenedSession {
  id: number
  uid: string
  expires_at: Date
  user: string
  client: string
}

/**
 * Opens a session. Returns undefined without effect if the user needs a second factor, may no longer sign in, or if another
 * transaction has locked the user or the client. It does not wait for that lock.
 */
export type OpenSession = (opening: SessionRequest) => Promise<OpenedSession | undefined>

/**
 * Opens sessions of users who need only their password, in one statement instead of a transaction of seven statements per
 * user. The statement locks the user and reads the row again, to detect a password or status that changed during the
 * password check. It locks the client with the lock of the session's foreign key, but before it writes and without waiting.
 *
 * Under load, one statement opens several sessions. A request waits for others for at most 50 ms, about the time of the
 * next few password checks.
 */
export const sessionOpener = (db: Kysely<DB>, lives: SessionLives): OpenSession =>
  batchUnderLoad({ patience: 50, ask: (all) => openAll(db, lives, all) })

async function openAll(
  db: Kysely<DB>,
  lives: SessionLives,
  all: readonly SessionRequest[],
): Promise<(OpenedSession | undefined)[]> {
  const hashes = all.map(({ refreshToken }) => secretHash(refreshToken))
  const { rows } = await sql<OpenedSession & { token_hash: Buffer }>`
    ${prepared('open-at-once')}
    with asked as (
      select * from unnest(
        ${all.map(({ user }) => user)}::bigint[], ${all.map(({ passwordHash }) => passwordHash)}::text[],
        ${hashes}::bytea[],
        ${all.map(({ attempt }) => attempt.network)}::text[], ${all.map(({ attempt }) => attempt.account)}::text[],
        ${all.map(({ facts }) => facts.operation)}::text[], ${all.map(({ facts }) => facts.requestId)}::text[],
        ${all.map(({ facts }) => facts.address)}::text[], ${all.map(({ facts }) => networkPrefixOf(facts.address))}::text[],
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
      ${insertRefreshTokensSql(sql`token_hash`, sql`opened join signing_in on session = opened.uid`)}
    ), ${forgiveAttemptsSql(sql`signing_in`)},
    audited as (
      ${auditInsertForEach(sql`
        select operation, "user", client, "user"::text, request_id, address,
          jsonb_build_object('outcome', 'signed in', 'session', session)
        from signing_in`)}
    )
    select token_hash, opened.id, opened.uid, opened.expires_at, "user", client
    from opened join signing_in on session = opened.uid`.execute(db)
  const byToken = new Map(rows.map(({ token_hash, ...opened }) => [token_hash.toString('base64url'), opened]))
  return hashes.map((hash) => byToken.get(hash.toString('base64url')))
}

/** The batched statements of concurrent sign-ins. */
export type SignInBatchers = ReturnType<typeof signInBatchers>

export const signInBatchers = (db: Kysely<DB>, lives: SessionLives) => ({
  count: attemptCounter(db),
  open: sessionOpener(db, lives),
})
