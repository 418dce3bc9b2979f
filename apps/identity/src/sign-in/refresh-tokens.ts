import { createHash, randomBytes } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { Role, UserStatus } from '@sluice/contracts'
import type { DB } from '../database.ts'
import { endSession } from './sessions.ts'

/**
 * Seconds in which a second use of a refresh token is taken for the retry of an answer that got lost: it is refused, but
 * the session lives. Later it is taken for theft, and the session ends for both.
 */
const grace = 10

/** A session as a refresh finds it. */
export interface RefreshedSession {
  id: number
  uid: string
  client: string
  expires_at: Date
  ended_at: Date | null
  user_id: number
  user: string
  status: UserStatus
  roles: Role[]
  disabled: boolean
}

export type Refresh =
  | { outcome: 'refreshed'; session: RefreshedSession }
  /** `session`: whose token it was, where that is known. */
  | { outcome: 'unknown' | 'ended' | 'retried' | 'reused'; session?: RefreshedSession }

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest()

/** A new token of a session. Only its hash is kept. */
export async function addRefreshToken(db: Kysely<DB>, session: { id: number; expires_at: Date }): Promise<string> {
  const token = `slr_${randomBytes(32).toString('base64url')}`
  await sql`
    insert into refresh_tokens (token_hash, session_id, expires_at)
    values (${hashOf(token)}, ${session.id}, ${session.expires_at})`.execute(db)
  return token
}

/** Was this token ever ours? Asked before anything is written, so that made-up ones leave nothing behind. */
export async function isRefreshToken(db: Kysely<DB>, token: string): Promise<boolean> {
  const { rows } = await sql`select from refresh_tokens where token_hash = ${hashOf(token)}`.execute(db)
  return rows.length > 0
}

/**
 * Uses a token up. Of any number of parallel uses exactly one finds it unused, because the update is the question; the
 * session's row stays locked, so that nobody ends it between this and the new token.
 */
export async function consumeRefreshToken(trx: Kysely<DB>, token: string): Promise<Refresh> {
  const hash = hashOf(token)
  const { rows: used } = await sql<{ session_id: number }>`
    update refresh_tokens set consumed_at = now() where token_hash = ${hash} and consumed_at is null
    returning session_id`.execute(trx)
  if (used[0]) {
    const session = await sessionOf(trx, used[0].session_id)
    return mayGoOn(session) ? { outcome: 'refreshed', session } : { outcome: 'ended', session }
  }
  const { rows: seen } = await sql<{ session_id: number; late: boolean }>`
    select session_id, consumed_at < now() - make_interval(secs => ${grace}) as late
    from refresh_tokens where token_hash = ${hash}`.execute(trx)
  if (!seen[0]) return { outcome: 'unknown' }
  const session = await sessionOf(trx, seen[0].session_id)
  if (session.ended_at) return { outcome: 'ended', session }
  if (!seen[0].late) return { outcome: 'retried', session }
  await endSession(trx, session.uid, 'REUSED')
  return { outcome: 'reused', session }
}

const mayGoOn = ({ status, disabled, ended_at, expires_at }: RefreshedSession): boolean =>
  status === 'ACTIVE' && !disabled && ended_at === null && expires_at.getTime() > Date.now()

async function sessionOf(trx: Kysely<DB>, id: number): Promise<RefreshedSession> {
  const { rows } = await sql<RefreshedSession>`
    select s.id, s.uid, s.client, s.expires_at, s.ended_at, s.user_id, u.uid as user, u.status, u.roles,
      c.disabled or own.disabled as disabled
    from sessions s
    join users u on u.id = s.user_id
    join clients c on c.uid = s.client
    join clients own on own.uid = u.client
    where s.id = ${id} for update of s`.execute(trx)
  return rows[0]!
}
