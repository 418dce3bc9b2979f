import { randomBytes } from 'node:crypto'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import { auditInsert, prepared, type AuditContext } from '@sluice/database'
import type { DB } from '../../database.ts'
import { endSession, isOpenSession } from './sessions.ts'
import { hashSecret } from '../../stored-secrets.ts'

/**
 * For this many seconds, a second use of a refresh token counts as a retry after a lost response: the service refuses
 * it, but the session continues. A later second use counts as theft: the session ends for both holders of the token.
 */
const reuseGraceSeconds = 10

export interface RefreshedSession {
  refreshToken: string
  session: { uid: string; expires_at: Date }
  user: string
  client: string
}

/** The reason why a refresh token was refused, and its user. */
export interface RefreshRefusal {
  outcome: 'ended' | 'retried' | 'reused'
  session: string
  actor: { user: string; client: string }
}

export const generateRefreshToken = (): string => `slr_${randomBytes(32).toString('base64url')}`

/** Adds a refresh token to a session and returns the token. Stores only its hash. Generates a token by default. */
export async function addRefreshToken(
  db: Kysely<DB>,
  session: { id: number; expires_at: Date },
  token = generateRefreshToken(),
): Promise<string> {
  await sql`
    ${prepared('add-refresh-token')}
    insert into refresh_tokens (token_hash, session_id, expires_at)
    values (${hashSecret(token)}, ${session.id}, ${session.expires_at})`.execute(db)
  return token
}

/**
 * Returns SQL that adds refresh tokens in the same statement that opens sessions. `opened` is the query of the new
 * sessions, with the columns id and expires_at. `hash` is the token's hash or a column with it.
 */
export const buildRefreshTokenInsert = (hash: Buffer | RawBuilder<unknown>, opened: RawBuilder<unknown>) => sql`
  insert into refresh_tokens (token_hash, session_id, expires_at)
  select ${hash}, id, expires_at from ${opened}`

/**
 * Exchanges a refresh token for the next one of its session. Returns undefined, without effect, if the token is
 * refused; `refuseRefresh` finds the reason.
 *
 * This is the most frequent request, so the exchange and its audit row are one statement. Only the first exchange of a
 * session in an hour is audited; opening the session counts as one. Only one of several concurrent uses of a token
 * succeeds: the others wait for its row and then find it used. If another transaction ends the session concurrently,
 * either this statement does not find the session, or the new token ends with the session.
 */
export async function exchangeRefreshToken(
  db: Kysely<DB>,
  token: string,
  auditContext: AuditContext,
): Promise<RefreshedSession | undefined> {
  const hash = hashSecret(token)
  const refreshToken = generateRefreshToken()
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
      ${buildRefreshTokenInsert(hashSecret(refreshToken), sql`continued`)}
    ), audited as (
      ${auditInsert(auditContext, sql`select "user", client, uid::text, '{"outcome": "refreshed"}'::jsonb from continued where first_in_hour`)}
    )
    select uid, client, expires_at, "user" from continued`.execute(db)
  const [tokenRow] = rows
  if (!tokenRow) return undefined
  const { user, client, ...session } = tokenRow
  return { refreshToken, session, user, client }
}

/**
 * Returns whether this service issued the refresh token. Callers check this first, so that invented tokens cause no
 * writes.
 */
export async function isRefreshToken(db: Kysely<DB>, token: string): Promise<boolean> {
  const { rows } = await sql`select from refresh_tokens where token_hash = ${hashSecret(token)}`.execute(db)
  return rows.length > 0
}

/**
 * Ends the session of a refresh token, even if the token was exchanged before. Returns the session and its user;
 * undefined for an unknown token.
 */
export async function endSessionOfToken(
  trx: Kysely<DB>,
  token: string,
): Promise<Omit<RefreshRefusal, 'outcome'> | undefined> {
  const { rows } = await sql<{ session: string; user: string; client: string }>`
    select s.uid as session, u.uid as user, s.client
    from refresh_tokens t join sessions s on s.id = t.session_id join users u on u.id = s.user_id
    where t.token_hash = ${hashSecret(token)}`.execute(trx)
  const [tokenRow] = rows
  if (!tokenRow) return undefined
  const { session, ...actor } = tokenRow
  await endSession(trx, session, 'SIGNED_OUT')
  return { session, actor }
}

/**
 * Returns the reason why a refresh token was not exchanged, and ends its session if the token looks stolen. Returns
 * undefined if the token was deleted.
 */
export async function refuseRefresh(trx: Kysely<DB>, token: string): Promise<RefreshRefusal | undefined> {
  const { rows } = await sql<{
    uid: string
    user: string
    client: string
    hasEnded: boolean
    isPastGrace: boolean | null
  }>`
    select s.uid, u.uid as user, s.client, s.ended_at is not null as "hasEnded",
      t.consumed_at < now() - make_interval(secs => ${reuseGraceSeconds}) as "isPastGrace"
    from refresh_tokens t join sessions s on s.id = t.session_id join users u on u.id = s.user_id
    where t.token_hash = ${hashSecret(token)} for update of s`.execute(trx)
  const [tokenRow] = rows
  if (!tokenRow) return undefined
  const { uid, user, client } = tokenRow
  const outcome = classifyRefusal(tokenRow)
  if (outcome === 'reused') await endSession(trx, uid, 'REUSED')
  return { outcome, session: uid, actor: { user, client } }
}

/**
 * Returns the reason why a refresh token is refused. `isPastGrace` is null for an unused token: its session ended, its
 * user was deactivated or the organisation was disabled.
 */
function classifyRefusal({
  hasEnded,
  isPastGrace,
}: {
  hasEnded: boolean
  isPastGrace: boolean | null
}): RefreshRefusal['outcome'] {
  if (hasEnded || isPastGrace === null) return 'ended'
  return isPastGrace ? 'reused' : 'retried'
}
