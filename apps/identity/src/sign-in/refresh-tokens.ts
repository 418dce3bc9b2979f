import { randomBytes } from 'node:crypto'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import { auditInsert, prepared, type AuditContext } from '@sluice/database'
import type { DB } from '../database.ts'
import { endSession, isOpenSession } from './sessions.ts'
import { secretHash } from '../secret-hash.ts'

/**
 * Seconds in which a second use of a refresh token is taken for the retry of an answer that got lost: it is refused, but
 * the session lives. Later it is taken for theft, and the session ends for both.
 */
const reuseGraceSeconds = 10

export interface RefreshedSession {
  refreshToken: string
  session: { uid: string; expires_at: Date }
  user: string
  client: string
}

/** Why a refresh token is not taken, and whose it was. */
export interface RefreshRefusal {
  outcome: 'ended' | 'retried' | 'reused'
  session: string
  by: { user: string; client: string }
}

export const newRefreshToken = (): string => `slr_${randomBytes(32).toString('base64url')}`

/** A token of a session, a new one unless it was made ahead. Only its hash is kept. */
export async function addRefreshToken(
  db: Kysely<DB>,
  session: { id: number; expires_at: Date },
  token = newRefreshToken(),
): Promise<string> {
  await sql`
    ${prepared('add-refresh-token')}
    insert into refresh_tokens (token_hash, session_id, expires_at)
    values (${secretHash(token)}, ${session.id}, ${session.expires_at})`.execute(db)
  return token
}

/**
 * The same as part of a statement that opens sessions: `opened` is its rows of id and expires_at; `hash`: of the token, or
 * the column that holds it.
 */
export const insertRefreshTokensSql = (hash: Buffer | RawBuilder<unknown>, opened: RawBuilder<unknown>) => sql`
  insert into refresh_tokens (token_hash, session_id, expires_at)
  select ${hash}, id, expires_at from ${opened}`

/**
 * Uses a token up and gives the next one of its session, in one statement together with its audit row, because nothing is
 * asked more often. So the audit notes only the first use of a session in each hour, and its opening counts as one. Of any number of parallel uses exactly one gets through: the others wait for the row, and find it used.
 * A session that somebody ends at the same time is either ended before, and not found, or after, with its new token.
 * Undefined: nothing happened; `refuseRefresh` knows why.
 */
export async function exchangeRefreshToken(
  db: Kysely<DB>,
  token: string,
  facts: AuditContext,
): Promise<RefreshedSession | undefined> {
  const [hash, refreshToken] = [secretHash(token), newRefreshToken()]
  const { rows } = await sql<RefreshedSession['session'] & { user: string; client: string }>`
    ${prepared('exchange-refresh-token')}
    with presented as (
      select session_id from refresh_tokens where token_hash = ${hash} and consumed_at is null for update
    ), continued as (
      update sessions s set last_used_at = now(), roles_at_issue = u.roles
      from presented, users u, clients c, clients own
      where s.id = presented.session_id and ${isOpenSession}
        and u.id = s.user_id and u.status = 'ACTIVE'
        and c.uid = s.client and not c.disabled and own.uid = u.client and not own.disabled
      returning s.id, s.uid, s.client, s.expires_at, u.uid as user,
        old.last_used_at < date_trunc('hour', now(), 'UTC') as first_in_hour
    ), used as (
      update refresh_tokens set consumed_at = now() where token_hash = ${hash} and exists (select from continued)
    ), next as (
      ${insertRefreshTokensSql(secretHash(refreshToken), sql`continued`)}
    ), audited as (
      ${auditInsert(facts, sql`select "user", client, uid::text, '{"outcome": "refreshed"}'::jsonb from continued where first_in_hour`)}
    )
    select uid, client, expires_at, "user" from continued`.execute(db)
  const [found] = rows
  if (!found) return undefined
  const { user, client, ...session } = found
  return { refreshToken, session, user, client }
}

/** Was this token ever ours? Asked before anything is written, so that made-up ones leave nothing behind. */
export async function isRefreshToken(db: Kysely<DB>, token: string): Promise<boolean> {
  const { rows } = await sql`select from refresh_tokens where token_hash = ${secretHash(token)}`.execute(db)
  return rows.length > 0
}

/** Ends the session of a refresh token, even if the token was already exchanged. Returns undefined if no session has this token. */
export async function endSessionOf(
  trx: Kysely<DB>,
  token: string,
): Promise<Omit<RefreshRefusal, 'outcome'> | undefined> {
  const { rows } = await sql<{ session: string; user: string; client: string }>`
    select s.uid as session, u.uid as user, s.client
    from refresh_tokens t join sessions s on s.id = t.session_id join users u on u.id = s.user_id
    where t.token_hash = ${secretHash(token)}`.execute(trx)
  const [found] = rows
  if (!found) return undefined
  const { session, ...by } = found
  await endSession(trx, session, 'SIGNED_OUT')
  return { session, by }
}

/** Finds out why a token was not exchanged, and ends its session where it looks stolen. Undefined: gone meanwhile. */
export async function refuseRefresh(trx: Kysely<DB>, token: string): Promise<RefreshRefusal | undefined> {
  const { rows } = await sql<{ uid: string; user: string; client: string; over: boolean; late: boolean | null }>`
    select s.uid, u.uid as user, s.client, s.ended_at is not null as over,
      t.consumed_at < now() - make_interval(secs => ${reuseGraceSeconds}) as late
    from refresh_tokens t join sessions s on s.id = t.session_id join users u on u.id = s.user_id
    where t.token_hash = ${secretHash(token)} for update of s`.execute(trx)
  const [found] = rows
  if (!found) return undefined
  const { uid, user, client, over, late } = found
  // Unused, so what ended is the session, its user's status or its client.
  const outcome = over || late === null ? 'ended' : late ? 'reused' : 'retried'
  if (outcome === 'reused') await endSession(trx, uid, 'REUSED')
  return { outcome, session: uid, by: { user, client } }
}
