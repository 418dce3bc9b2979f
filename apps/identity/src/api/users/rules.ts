import { sql, type Transaction } from 'kysely'
import { hasRole, type Role, type UserBody } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import type { DB } from '../../database.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { listMissingRoles } from '../role-rules.ts'
import { userRecords, type UserRow } from './records.ts'

/** Throws 403 if the user holds a role that the caller lacks: such callers may not edit or delete the user. */
export function assertMayManageUser(caller: Caller, user: Pick<UserRow, 'roles'>): void {
  const lacked = listMissingRoles(caller, user.roles)
  if (lacked.length > 0)
    throw problems.forbidden(`This user holds roles that you lack: ${lacked.join(', ')}. Ask a user who has them.`)
}

/** Returns a user. Throws 403 if they hold roles that the caller lacks. */
export async function readManageableUser(
  { db, caller }: Pick<IdentityRequestContext, 'db' | 'caller'>,
  uid: string,
): Promise<UserRow> {
  const user = await userRecords.read(db, caller, uid)
  assertMayManageUser(caller, user)
  return user
}

/** Locks a user until the transaction ends. Throws 403 if they hold roles that the caller lacks. */
export async function lockManageableUser(
  trx: Transaction<DB>,
  caller: Caller,
  uid: string,
  ifMatch?: number,
): Promise<UserRow> {
  const user = await userRecords.lock(trx, caller, uid, ifMatch)
  assertMayManageUser(caller, user)
  return user
}

/** Rejects a password for another user unless the deployment allows it; never with single sign-on. */
export function assertPasswordAllowed({ password, ssoAuth }: UserBody, adminSetsPasswords: boolean): void {
  if (password === undefined) return
  if (ssoAuth) throw problems.refused('/password', 'A user with single sign-on has no password here. Omit it.')
  if (!adminSetsPasswords)
    throw problems.refused('/password', 'In this installation, people choose their own passwords. Omit it.')
}

/**
 * Throws if callers set their own password here. Users change it only with the current password, which an attacker at
 * an unattended session does not know.
 */
export function assertNotOwnPassword({ password }: UserBody, isOwnAccount: boolean): void {
  if (isOwnAccount && password !== undefined)
    throw problems.refused('/password', 'Change your own password with PUT /users/me/password.')
}

/**
 * Throws if callers change their own sign-in fields, because with an unattended session or an API token alone, an
 * attacker could then take over the account.
 */
export function assertOwnSignInUnchanged(
  before: UserRow,
  after: Pick<UserRow, 'username' | 'email' | 'sso_auth' | 'sso_id'>,
) {
  if (after.email !== before.email)
    throw problems.refused('/email', 'Change your own e-mail address with PUT /users/me/email.')
  for (const [column, field] of signInFields)
    if (after[column] !== before[column])
      throw problems.refused(
        `/${field}`,
        `You cannot change the ${field} of your own user. Ask another manager of users.`,
      )
}

/** Throws if callers deactivate or delete themselves, because they could not undo that. */
export function assertNotOwnUser(caller: Caller, user: Pick<UserRow, 'uid'>, pointer: string, doing: string): void {
  if (user.uid === caller.uid)
    throw problems.refused(pointer, `You cannot ${doing} your own user. Ask another manager of users.`)
}

const signInFields = [
  ['username', 'username'],
  ['sso_auth', 'ssoAuth'],
  ['sso_id', 'ssoId'],
] as const

type UserSignIn = Pick<UserRow, 'client' | 'sso_auth' | 'roles'>

/**
 * Rejects new roles of users who sign in at an SSO provider, if the last editor of its config does not hold these roles
 * now, because the editor can impersonate the users. A deleted or deactivated editor holds no role. Reads the changed
 * rows and locks the config, or the client if it has none, until the transaction ends.
 */
export async function assertProviderTrusted(
  trx: Transaction<DB>,
  after: UserSignIn,
  before: Omit<UserSignIn, 'client'> = { sso_auth: false, roles: [] },
): Promise<void> {
  if (!after.sso_auth) return
  // A user who changes to single sign-on gains all roles there.
  const gained = after.roles.filter((role) => !before.sso_auth || !before.roles.includes(role))
  if (gained.length === 0) return
  const startsSingleSignOn = !before.sso_auth && before.roles.length > 0
  const heldRoles = await findProviderEditorRoles(trx, after.client)
  const lacked = heldRoles ? gained.filter((role) => !hasRole(heldRoles, role)) : []
  if (lacked.length > 0)
    throw problems.refused(
      startsSingleSignOn ? '/ssoAuth' : '/auths',
      `The last editor of this client’s SSO provider config does not hold ${lacked.join(', ')} and could sign in as this user. Ask a user with these roles to check that config and save it again.`,
    )
}

/** Returns undefined if the client has no provider. */
async function findProviderEditorRoles(trx: Transaction<DB>, client: string): Promise<Role[] | undefined> {
  const selectEditorRoles = () =>
    sql<{ roles: Role[] }>`
      select coalesce((select u.roles from users u where u.uid = p.updated_by and u.status = 'ACTIVE'), '{}') as roles
      from sso_provider_configs p where p.client = ${client} for share of p`.execute(trx)
  const { rows } = await selectEditorRoles()
  if (rows[0]) return rows[0].roles
  // Creating a config locks the client too. After this lock, a second query sees a config that was just created.
  await sql`select from clients where uid = ${client} for share`.execute(trx)
  return (await selectEditorRoles()).rows[0]?.roles
}
