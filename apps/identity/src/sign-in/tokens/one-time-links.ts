import { randomBytes } from 'node:crypto'
import { sql, type Kysely } from 'kysely'
import type { UserStatus } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import type { DB } from '../../database.ts'
import { hashSecret } from '../../stored-secrets.ts'

export type LinkPurpose = 'INVITATION' | 'PASSWORD_RESET'

/** The lifetime and the page of each kind of link. */
const settingsByPurpose: Record<LinkPurpose, { hours: number; page: string }> = {
  INVITATION: { hours: 7 * 24, page: '/account/invitation' },
  PASSWORD_RESET: { hours: 1, page: '/account/password' },
}

/** A link's user and expiry. */
export interface FoundLink {
  user: {
    id: number
    uid: string
    client: string
    clientName: string
    clientCode: string
    name: string
    username: string
    email: string
    ssoAuth: boolean
    status: UserStatus
  }
  expires: Date
}

export interface NewLink {
  url: string
  expires: Date
}

/**
 * Creates a link for a user, which replaces the earlier link of the same purpose. The token has 256 random bits, and
 * only its hash is stored. The link uses the configured public address, not the host of the request, which an attacker
 * can choose.
 */
export async function addLink(
  trx: Kysely<DB>,
  user: { id: number; email: string },
  purpose: LinkPurpose,
  { IDENTITY_PUBLIC_URL }: { IDENTITY_PUBLIC_URL: string },
): Promise<NewLink> {
  const token = `sll_${randomBytes(32).toString('base64url')}`
  const { hours, page } = settingsByPurpose[purpose]
  const { rows } = await sql<{ expires_at: Date }>`
    insert into links (user_id, purpose, token_hash, email, expires_at)
    values (${user.id}, ${purpose}, ${hashSecret(token)}, ${user.email}, now() + make_interval(hours => ${hours}))
    on conflict (user_id, purpose) do update set
      token_hash = excluded.token_hash, email = excluded.email, created_at = now(), expires_at = excluded.expires_at
    returning expires_at`.execute(trx)
  return { url: `${IDENTITY_PUBLIC_URL}${page}?token=${token}`, expires: rows[0]!.expires_at }
}

/**
 * Finds a link without using it up. Returns undefined if the link is unknown, used, replaced or expired, if the user's
 * address, status or sign-in method changed, or if the organisation is disabled.
 */
export async function findLink(db: Kysely<DB>, token: string, purpose: LinkPurpose): Promise<FoundLink | undefined> {
  const { rows } = await sql<FoundLink['user'] & { expires: Date }>`
    select links.expires_at as expires, users.id, users.uid, users.client, users.name, users.username, users.email,
      users.sso_auth as "ssoAuth", users.status, clients.name as "clientName", clients.code as "clientCode"
    from links join users on users.id = links.user_id join clients on clients.uid = users.client
    where links.token_hash = ${hashSecret(token)} and links.purpose = ${purpose} and ${isUsableLink}`.execute(db)
  if (!rows[0]) return undefined
  const { expires, ...user } = rows[0]
  return { user, expires }
}

/**
 * SQL condition: the row of `links` can be used by its row of `users`. An invitation requires a user who is still
 * invited. A password reset is invalid after a change that ends the user's sessions.
 */
const isUsableLink = sql`
  links.expires_at > now() and links.email = users.email and not clients.disabled and case links.purpose
    when 'INVITATION' then users.status = 'INVITATION'
    else users.status = 'ACTIVE' and not users.sso_auth and links.created_at > users.token_valid_after
  end`

/**
 * Uses up a link by deleting it, locks its user and returns the user's id. Only one of several concurrent uses
 * succeeds. Returns undefined in the cases of `findLink`.
 */
export async function consumeLink(trx: Kysely<DB>, token: string, purpose: LinkPurpose): Promise<number | undefined> {
  const tokenHash = hashSecret(token)
  // Lock users before rows that depend on them, in the same order as all transactions, which prevents deadlocks.
  await sql`
    select from users
    where id = (select user_id from links where token_hash = ${tokenHash}) for no key update`.execute(trx)
  const { rows } = await sql<{ id: number }>`
    delete from links using users, clients
    where links.token_hash = ${tokenHash} and links.purpose = ${purpose}
      and users.id = links.user_id and clients.uid = users.client and ${isUsableLink}
    returning users.id`.execute(trx)
  return rows[0]?.id
}

export async function revokeLinks(trx: Kysely<DB>, user: number): Promise<void> {
  await sql`delete from links where user_id = ${user}`.execute(trx)
}

export const linkProblem = () =>
  problems.refused('/token', 'This link has been used or replaced, or has expired. Request a new one.')
