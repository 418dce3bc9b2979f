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
 * refused; `handleRefusedRefreshToken` finds the reason.
 *
 * This is the most frequent request, so one statement does all of these steps, each a CTE:
 *
 * 1. `presented_token` locks the token if it is unused. Concurrent uses of the token wait here, then find it used.
 * 2. `extended_session` updates the session if it is open, its user active and both organisations enabled.
 * 3. `consumed_token` marks the token as used, `next_token` stores the next one, and `audit_row` audits the first
 *    exchange of the session in an hour (opening the session counts as one). They do nothing without step 2.
 *
 * If another transaction ends the session concurrently, either step 2 does not find it, or the next token ends with it.
 */
export async function exchangeRefreshToken(
  db: Kysely<DB>,
  token: string,
  auditContext: AuditContext,
): Promise<RefreshedSession | undefined> {
  const tokenHash = hashSecret(token)
  const refreshToken = generateRefreshToken()
  const auditFacts = sql`
    select "user", client, uid::text, '{"outcome": "refreshed"}'::jsonb from extended_session where first_in_hour`
  const { rows } = await sql<RefreshedSession['session'] & { user: string; client: string }>`
    ${prepared('exchange-refresh-token')}
    with presented_token as (
      select session_id from refresh_tokens where token_hash = ${tokenHash} and consumed_at is null for update
    ), extended_session as (
      update sessions set last_used_at = now(), roles_at_issue = users.roles
      from presented_token, users, clients, clients home_client
      where sessions.id = presented_token.session_id and ${isOpenSession}
        and users.id = sessions.user_id and users.status = 'ACTIVE'
        and clients.uid = sessions.client and not clients.disabled
        and home_client.uid = users.client and not home_client.disabled
      returning sessions.id, sessions.uid, sessions.client, sessions.expires_at, users.uid as user,
        old.last_used_at < date_trunc('hour', now(), 'UTC') as first_in_hour
    ), consumed_token as (
      update refresh_tokens set consumed_at = now()
      where token_hash = ${tokenHash} and exists (select from extended_session)
    ), next_token as (
      ${buildRefreshTokenInsert(hashSecret(refreshToken), sql`extended_session`)}
    ), audit_row as (
      ${auditInsert(auditContext, auditFacts)}
    )
    select uid, client, expires_at, "user" from extended_session`.execute(db)
  const [tokenRow] = rows
  if (!tokenRow) return undefined
  const { user, client, ...session } = tokenRow
  return { refreshToken, session, user, client }
}

/**
 * Returns whether this service issued the refresh token. Callers check this first, so that invented tokens cause no
 * writes.
 */
export async function refreshTokenExists(db: Kysely<DB>, token: string): Promise<boolean> {
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
    select sessions.uid as session, users.uid as user, sessions.client
    from refresh_tokens
    join sessions on sessions.id = refresh_tokens.session_id
    join users on users.id = sessions.user_id
    where refresh_tokens.token_hash = ${hashSecret(token)}`.execute(trx)
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
export async function handleRefusedRefreshToken(trx: Kysely<DB>, token: string): Promise<RefreshRefusal | undefined> {
  const { rows } = await sql<{ session: string; user: string; client: string } & RefusedTokenState>`
    select sessions.uid as session, users.uid as user, sessions.client, sessions.ended_at is not null as "sessionEnded",
      refresh_tokens.consumed_at is not null as "wasUsed",
      coalesce(refresh_tokens.consumed_at < now() - make_interval(secs => ${reuseGraceSeconds}), false) as "wasUsedLongAgo"
    from refresh_tokens
    join sessions on sessions.id = refresh_tokens.session_id
    join users on users.id = sessions.user_id
    where refresh_tokens.token_hash = ${hashSecret(token)} for update of sessions`.execute(trx)
  const [tokenRow] = rows
  if (!tokenRow) return undefined
  const { session, user, client } = tokenRow
  const outcome = classifyRefusal(tokenRow)
  if (outcome === 'reused') await endSession(trx, session, 'REUSED')
  return { outcome, session, actor: { user, client } }
}

interface RefusedTokenState {
  sessionEnded: boolean
  wasUsed: boolean
  /** True if the earlier use is too long ago for this one to be a retry after a lost response. */
  wasUsedLongAgo: boolean
}

/** Returns the reason why a refresh token is refused. */
function classifyRefusal({ sessionEnded, wasUsed, wasUsedLongAgo }: RefusedTokenState): RefreshRefusal['outcome'] {
  // An unused token is refused only if the session expired, the user was deactivated or the organisation disabled.
  if (sessionEnded || !wasUsed) return 'ended'
  return wasUsedLongAgo ? 'reused' : 'retried'
}
