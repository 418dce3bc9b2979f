import { type Kysely, type RawBuilder, type SqlBool, type Transaction, sql } from 'kysely'
import type { Role } from '@sluice/contracts'
import { prepared, recordAudit } from '@sluice/database'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import { repeatInBatches } from '../../process-rows-in-batches.ts'
import { toNetworkPrefix } from '../throttle/network-prefix.ts'
import { endTicketsOfUser } from '../second-factor/tickets.ts'

export type EndReason =
  | 'SIGNED_OUT'
  | 'REUSED'
  | 'USER_CHANGED'
  | 'CLIENT_DISABLED'
  | 'ENDED_BY_USER'
  | 'ENDED_BY_ADMIN'
  | 'IDLE'

export type SessionLifetimes = Pick<Config, 'SESSION_DAYS' | 'SESSION_IDLE_HOURS'>

export interface NewSession {
  user: { id: number; client: string; roles: Role[] }
  /** The maximum lifetime and the idle timeout. */
  lifetimes: SessionLifetimes
  address: string
  userAgent: string
  /** The authentication methods (RFC 8176). */
  amr: string[]
}

/** An open session as users see it in a list. */
export interface FoundSession {
  uid: string
  created_at: Date
  last_used_at: Date
  expires_at: Date
  address: string
  user_agent: string
  /** The names of the applications to which the user signed in with this session. */
  applications: string[]
}

const isIdleSession = sql`sessions.last_used_at <= now() - make_interval(hours => sessions.idle_hours)`

/** SQL condition: the row of `sessions` is not ended, not expired and not idle. */
export const isOpenSession = sql<SqlBool>`
  (sessions.ended_at is null and sessions.expires_at > now() and not ${isIdleSession})`

/** Opens a session for a user in the user's own organisation. */
export async function startSession(trx: Kysely<DB>, { user, lifetimes, address, userAgent, amr }: NewSession) {
  const { rows } = await sql<{ id: number; uid: string; expires_at: Date }>`
    ${prepared('open-session')}
    insert into sessions (user_id, client, expires_at, idle_hours, roles_at_issue, address, address_prefix, user_agent, amr)
    values (${user.id}, ${user.client}, now() + make_interval(days => ${lifetimes.SESSION_DAYS}), ${lifetimes.SESSION_IDLE_HOURS}, ${user.roles}, ${address}, ${toNetworkPrefix(address)}, ${userAgent}, ${amr})
    returning id, uid, expires_at`.execute(trx)
  return rows[0]!
}

export async function endSession(trx: Kysely<DB>, session: string, reason: EndReason): Promise<void> {
  await endWhere(trx, sql`uid = ${session}`, reason)
}

/** Returns the open sessions of a user, last used first, at most 1,000. */
export async function listSessions(db: Kysely<DB>, user: number): Promise<FoundSession[]> {
  const { rows } = await sql<FoundSession>`
    select sessions.uid, sessions.created_at, sessions.last_used_at, sessions.expires_at, sessions.address,
      sessions.user_agent, array(
      select distinct applications.client_name
      from oidc_models join sso_client_configs applications on applications.id = oidc_models.sso_client_config_id
      where oidc_models.session_id = sessions.id order by applications.client_name limit 100
    )::text[] as applications
    from sessions where sessions.user_id = ${user} and ${isOpenSession}
    order by sessions.last_used_at desc, sessions.id desc limit 1000`.execute(db)
  return rows
}

/** Ends one session of a user. Returns false if the user has no such open session. */
export async function endOwnSession(trx: Kysely<DB>, user: number, session: string): Promise<boolean> {
  return (await endWhere(trx, sql`user_id = ${user} and uid = ${session} and ${isOpenSession}`, 'ENDED_BY_USER')) > 0
}

/**
 * Ends all sessions of a user except `session`, and deletes pending second-factor tickets. Returns the number of ended
 * sessions.
 */
export async function endOtherSessions(trx: Kysely<DB>, user: number, session: string): Promise<number> {
  await endTicketsOfUser(trx, user)
  return endWhere(trx, sql`user_id = ${user} and uid <> ${session}`, 'ENDED_BY_USER')
}

/** Ends all sessions of a user, deletes pending second-factor tickets, and invalidates all tokens issued until now. */
export async function endSessionsOfUser(
  trx: Kysely<DB>,
  user: number,
  reason: EndReason = 'USER_CHANGED',
): Promise<void> {
  await sql`update users set token_valid_after = now() where id = ${user}`.execute(trx)
  await endTicketsOfUser(trx, user)
  await endWhere(trx, sql`user_id = ${user}`, reason)
}

/** Ends the sessions of many users in one statement. `users` is a list of ids or a subquery. */
export const endSessionsOfUsers = (trx: Kysely<DB>, users: RawBuilder<unknown>): Promise<number> =>
  endWhere(trx, sql`user_id in ${users}`, 'USER_CHANGED')

/**
 * Ends all sessions in a disabled organisation, and all sessions, pending second-factor tickets and password-reset
 * links of its users. They are refused anyway while the organisation is disabled; ending them keeps them invalid after
 * it is enabled again. The organisation's sessions end in batches, because there may be a million. One statement is
 * enough for the rest: tickets and links expire soon, and few users have sessions in another organisation. Does not
 * update the user rows, because that table has many indexes.
 */
export async function endSessionsOfClient(db: Kysely<DB>, client: string): Promise<void> {
  const disabled = sql`exists (select from clients where uid = ${client} and disabled)`
  const users = sql`(select users.id from users where users.client = ${client})`
  await sql`delete from links where purpose = 'PASSWORD_RESET' and user_id in ${users} and ${disabled}`.execute(db)
  await sql`delete from second_factor_tickets where user_id in ${users} and ${disabled}`.execute(db)
  await endInBatches(db, sql`client = ${client} and ${disabled}`, 'CLIENT_DISABLED')
  await endWhere(db, sql`client <> ${client} and user_id in ${users} and ${disabled}`, 'CLIENT_DISABLED')
}

/** Marks idle sessions as ended. This only updates the table: idle sessions are refused even before. */
export const endIdleSessions = (db: Kysely<DB>, signal?: AbortSignal): Promise<number> =>
  endInBatches(db, sql`expires_at > now() and ${isIdleSession}`, 'IDLE', signal)

/**
 * Ends the sessions that meet a condition, in batches by ascending id, so that no batch reads the sessions of an
 * earlier one again. Returns their number.
 */
function endInBatches(
  db: Kysely<DB>,
  condition: RawBuilder<unknown>,
  reason: EndReason,
  signal?: AbortSignal,
): Promise<number> {
  let lastId = 0
  return repeatInBatches(
    async (size) => {
      const { rows: ended } = await sql<{ id: number }>`
        update sessions set ended_at = now(), end_reason = ${reason} where id = any(array(
          select id from sessions where id > ${lastId} and ${condition} and ended_at is null
          order by id limit ${size} for update))
        returning id`.execute(db)
      lastId = Math.max(lastId, ...ended.map(({ id }) => id))
      return ended.length
    },
    { signal, size: 2_000 },
  )
}

async function endWhere(trx: Kysely<DB>, condition: RawBuilder<unknown>, reason: EndReason): Promise<number> {
  const { numAffectedRows } = await sql`
    update sessions set ended_at = now(), end_reason = ${reason} where ${condition} and ended_at is null`.execute(trx)
  return Number(numAffectedRows ?? 0)
}

interface UnusedSession {
  session: { uid: string }
  user: { uid: string; client: string }
}

/** The properties of a request for its audit row. */
export interface RequestAuditFacts {
  requestId: string
  address: string
}

/** Ends the session of an incomplete sign-in, and audits the reason. */
export async function endUnusedSession(
  trx: Transaction<DB>,
  { session, user }: UnusedSession,
  outcome: string,
  auditContext: RequestAuditFacts,
): Promise<void> {
  await endSession(trx, session.uid, 'SIGNED_OUT')
  await recordAudit(trx, {
    operation: 'oidc.endSession',
    actor: user.uid,
    client: user.client,
    object: session.uid,
    details: { outcome },
    ...auditContext,
  })
}
