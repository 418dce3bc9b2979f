import { randomBytes } from 'node:crypto'
import { sql, type Kysely, type RawBuilder } from 'kysely'
import { auditInsert, prepared, type AuditContext } from '@sluice/database'
import type { DB } from '../../database.ts'
import { endSession, isOpenSession } from './sessions.ts'
import { hashSecret } from '../../stored-secrets.ts'

/**
 * Seconds in which a second use of a refresh token counts as a retry after a lost response: the service refuses it, but the
 * session continues. A later second use counts as theft, and the session ends for both holders.
 */
const reuseGraceSeconds = 10

export interface RefreshedSession {
  refreshToken: string
  session: { uid: string; expires_at: Date }
  user: string
  client: string
}

/** The reason for a refused refresh token, and its user. */
export interface RefreshRefusal {
  outcome: 'ended' | 'retried' | 'reused'
  session: string
  actor: { user: string; client: string }
}

export const generateRefreshToken = (): string => `slr_${randomBytes(32).toString('base64url')}`

/** Adds a refresh token to a session; creates the token if none is given. Stores only the hash. */
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
 * Adds refresh tokens as part of a statement that opens sessions. `opened`: its rows of id and expires_at. `hash`: the
 * token's hash, or the column that contains it.
 */
export const buildRefreshTokenInsert = (hash: Buffer | RawBuilder<unknown>, opened: RawBuilder<unknown>) => sql`
  insert into refresh_tokens (token_hash, session_id, expires_at)
  select ${hash}, id, expires_at from ${opened}`

/**
 * Exchanges a refresh token for the next one of its session. The exchange and its audit row are one statement, because it is the
 * most frequent request. For the same reason the audit log has only the first use of a session in each hour; opening the session
 * counts as a use. Exactly one of any number of concurrent uses succeeds: the others wait for the row and find the token used.
 * If another transaction ends the session concurrently, either this statement does not find the session, or the session ends
 * with its new token. Returns undefined without effect; `refuseRefresh` finds the reason.
 */
export async function exchangeRefreshToken(
  db: Kysely<DB>,
  token: string,
  auditContext: AuditContext,
): Promise<RefreshedSession | undefined> {
  const [hash, refreshToken] = [hashSecret(token), generateRefreshToken()]
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

/** Returns whether this service issued the token. Callers check it first, so that invented tokens write nothing. */
export async function isRefreshToken(db: Kysely<DB>, token: string): Promise<boolean> {
  const { rows } = await sql`select from refresh_tokens where token_hash = ${hashSecret(token)}`.execute(db)
  return rows.length > 0
}

/** Ends the session of a refresh token, even of an exchanged one. Returns undefined if no session has this token. */
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

/** Returns why a token was not exchanged, and ends its session if it looks stolen. Undefined if the token was deleted. */
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
 * Returns why a token is refused. `isPastGrace` is null for an unused token, which is refused because its session ended, its user
 * was deactivated or its client was disabled.
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
