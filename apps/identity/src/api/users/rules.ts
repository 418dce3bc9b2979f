import { type Role, type UserBody, holds } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http'
import { missingRoles } from '../assert-grantable.ts'
import type { UserRow } from './row.ts'
import { type Transaction, sql } from 'kysely'
import type { DB } from '../../database.ts'

/** Nobody edits or removes someone who can do what they cannot. */
export function assertMayManageUser(caller: Caller, user: Pick<UserRow, 'roles'>): void {
  const lacked = missingRoles(caller, user.roles)
  if (lacked.length > 0) throw problems.forbidden(`This user holds what you do not: ${lacked.join(', ')}.`)
}

/** Passwords of others, where the deployment lets administrators choose them. Not beside single sign-on. */
export function assertPasswordAllowed({ password, ssoAuth }: UserBody, adminSetsPasswords: boolean): void {
  if (password === undefined) return
  if (ssoAuth) throw problems.refused('/password', 'A user with single sign-on has no password here.')
  if (!adminSetsPasswords)
    throw problems.refused('/password', 'In this installation, people choose their own passwords.')
}

/** One's own takes the current one too, so that a session that somebody found open does not become a password. */
export function assertNotOwnPassword({ password }: UserBody, own: boolean): void {
  if (own && password !== undefined)
    throw problems.refused('/password', 'Change your own password with PUT /users/me/password.')
}

/**
 * How somebody signs in, and where their links are mailed, nobody changes of themself by the way: with an open session or an
 * API token alone, the account would be theirs for good.
 */
export function assertOwnSignInUnchanged(
  before: UserRow,
  after: Pick<UserRow, 'username' | 'email' | 'sso_auth' | 'sso_id'>,
) {
  if (after.email !== before.email)
    throw problems.refused('/email', 'Change your own e-mail address with PUT /users/me/email.')
  for (const [column, field] of signInFields)
    if (after[column] !== before[column])
      throw problems.refused(`/${field}`, `Have somebody else who manages users change the ${field} of your own user.`)
}

/** Whoever does away with their own user by a slip has nobody to undo it: somebody else looks first. */
export function assertNotOwnUser(caller: Caller, user: Pick<UserRow, 'uid'>, pointer: string, doing: string): void {
  if (user.uid === caller.uid)
    throw problems.refused(pointer, `Have somebody else who manages users ${doing} your own user.`)
}

const signInFields = [
  ['username', 'username'],
  ['sso_auth', 'ssoAuth'],
  ['sso_id', 'ssoId'],
] as const

type UserSignIn = Pick<UserRow, 'client' | 'sso_auth' | 'roles'>

/**
 * Whoever chose the provider of a client can be everybody who signs in there. So nobody gets a role there that whoever saved
 * the provider's config last does not hold now; who is deleted or shut out holds none. Asked of what was
 * changed already; both the config and its absence stay until the transaction ends.
 */
export async function assertProviderTrusted(
  trx: Transaction<DB>,
  after: UserSignIn,
  before: Omit<UserSignIn, 'client'> = { sso_auth: false, roles: [] },
): Promise<void> {
  const gained = after.sso_auth ? after.roles.filter((role) => !before.sso_auth || !before.roles.includes(role)) : []
  if (gained.length === 0) return
  const held = await rolesOfProviderEditor(trx, after.client)
  const lacked = held ? gained.filter((role) => !holds(held, role)) : []
  if (lacked.length > 0)
    throw problems.refused(
      before.sso_auth || before.roles.length === 0 ? '/auths' : '/ssoAuth',
      `Whoever saved this client’s SSO provider config last does not hold ${lacked.join(', ')}, and could sign in as this user: have somebody who does check that config and save it anew.`,
    )
}

/** Undefined: the client has no provider. */
async function rolesOfProviderEditor(trx: Transaction<DB>, client: string): Promise<Role[] | undefined> {
  const chosen = () =>
    sql<{ roles: Role[] }>`
      select coalesce((select u.roles from users u where u.uid = p.updated_by and u.status = 'ACTIVE'), '{}') as roles
      from sso_provider_configs p where p.client = ${client} for share of p`.execute(trx)
  const { rows } = await chosen()
  if (rows[0]) return rows[0].roles
  // Whoever makes one locks the client too, and sees this user, or is seen here.
  await sql`select from clients where uid = ${client} for share`.execute(trx)
  return (await chosen()).rows[0]?.roles
}
