import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { Role } from '@sluice/contracts'
import type { DB } from '../database.ts'
import { prefixOf } from './addresses.ts'

export type EndReason = 'SIGNED_OUT' | 'REUSED' | 'USER_CHANGED' | 'CLIENT_DISABLED'

export interface NewSession {
  user: { id: number; client: string; roles: Role[] }
  days: number
  address: string
  userAgent: string
}

/** A new session of a user, for the client they belong to. */
export async function openSession(trx: Kysely<DB>, { user, days, address, userAgent }: NewSession) {
  const { rows } = await sql<{ id: number; uid: string; expires_at: Date }>`
    insert into sessions (user_id, client, expires_at, roles_at_issue, address, address_prefix, user_agent)
    values (${user.id}, ${user.client}, now() + make_interval(days => ${days}), ${user.roles}, ${address}, ${prefixOf(address)}, ${userAgent})
    returning id, uid, expires_at`.execute(trx)
  return rows[0]!
}

/** Notes that a session goes on, and what its user may do from here. */
export async function continueSession(trx: Kysely<DB>, { id, roles }: { id: number; roles: Role[] }): Promise<void> {
  await sql`update sessions set last_used_at = now(), roles_at_issue = ${roles} where id = ${id}`.execute(trx)
}

export async function endSession(trx: Kysely<DB>, session: string, reason: EndReason): Promise<void> {
  await end(trx, sql`uid = ${session}`, reason)
}

/** Ends whatever a user has open, and refuses tokens that were issued until now. */
export async function endSessionsOfUser(trx: Kysely<DB>, user: number): Promise<void> {
  await sql`update users set token_valid_after = now() where id = ${user}`.execute(trx)
  await end(trx, sql`user_id = ${user}`, 'USER_CHANGED')
}

/** Ends whatever is open for a client, and whatever its users have open elsewhere. Users before sessions, as everywhere. */
export async function endSessionsOfClient(trx: Kysely<DB>, client: string): Promise<void> {
  await sql`update users set token_valid_after = now() where client = ${client}`.execute(trx)
  const users = sql`select id from users where client = ${client}`
  await end(trx, sql`(client = ${client} or user_id in (${users}))`, 'CLIENT_DISABLED')
}

async function end(trx: Kysely<DB>, which: RawBuilder<unknown>, reason: EndReason): Promise<void> {
  await sql`update sessions set ended_at = now(), end_reason = ${reason} where ${which} and ended_at is null`.execute(
    trx,
  )
}
