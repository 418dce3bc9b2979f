import { sql, type Transaction } from 'kysely'
import { hasRole, type Role, type UserBody } from '@sluice/contracts'
import { type Caller, problems } from '@sluice/http-server'
import type { DB } from '../../database.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import { listMissingRoles } from '../role-grant-rules.ts'
import { userRecords, type UserRow } from './records.ts'

/** Throws 403 if the user holds a role that the caller lacks. Such callers may not edit or delete the user. */
export function assertMayManageUser(caller: Caller, user: Pick<UserRow, 'roles'>): void {
  const lacked = listMissingRoles(caller, user.roles)
  if (lacked.length > 0)
    throw problems.forbidden(`This user holds roles that you lack: ${lacked.join(', ')}. Ask a user who has them.`)
}

/** Returns a user. Throws 403 if the user holds a role that the caller lacks. */
export async function readManageableUser(
  { db, caller }: Pick<IdentityRequestContext, 'db' | 'caller'>,
  uid: string,
): Promise<UserRow> {
  const user = await userRecords.read(db, caller, uid)
  assertMayManageUser(caller, user)
  return user
}

/**
 * Locks a user's row until the transaction ends, and returns it. Throws 403 if the user holds a role that the caller
 * lacks.
 */
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

/**
 * Throws 422 if the body sets a password for a user with single sign-on, or if administrators of this installation may
 * not set passwords of users.
 */
export function assertPasswordAllowed({ password, ssoAuth }: UserBody, adminSetsPasswords: boolean): void {
  if (password === undefined) return
  if (ssoAuth) throw problems.refused('/password', 'A user with single sign-on has no password here. Omit it.')
  if (!adminSetsPasswords)
    throw problems.refused('/password', 'In this installation, people choose their own passwords. Omit it.')
}

/**
 * Throws 422 if callers set their own password through this endpoint. The other endpoint requires the current password,
 * which an attacker at an unattended session does not know.
 */
export function assertNotOwnPassword({ password }: UserBody, isOwnAccount: boolean): void {
  if (isOwnAccount && password !== undefined)
    throw problems.refused('/password', 'Change your own password with PUT /users/me/password.')
}

/**
 * Throws 422 if callers change their own sign-in fields. Otherwise an attacker with an unattended session or an API
 * token could take over the account.
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

/** Throws 422 if callers deactivate or delete themselves, because they could not undo that. */
export function assertNotOwnUser(
  caller: Caller,
  user: Pick<UserRow, 'uid'>,
  pointer: string,
  verb: 'deactivate' | 'delete',
): void {
  if (user.uid === caller.uid)
    throw problems.refused(pointer, `You cannot ${verb} your own user. Ask another manager of users.`)
}

const signInFields = [
  ['username', 'username'],
  ['sso_auth', 'ssoAuth'],
  ['sso_id', 'ssoId'],
] as const

type UserSignIn = Pick<UserRow, 'client' | 'sso_auth' | 'roles'>

/**
 * Throws 422 if a user with single sign-on gains a role that the last editor of the provider's config does not hold,
 * because that editor can impersonate the user. A deleted or deactivated editor holds no role. Without a provider
 * config, throws nothing. Locks the config, or the organisation if it has no config, until the transaction ends.
 */
export async function assertProviderTrusted(
  trx: Transaction<DB>,
  after: UserSignIn,
  before: Omit<UserSignIn, 'client'> = { sso_auth: false, roles: [] },
): Promise<void> {
  if (!after.sso_auth) return
  // A user who changes to single sign-on counts as gaining all of their roles.
  const gained = after.roles.filter((role) => !before.sso_auth || !before.roles.includes(role))
  if (gained.length === 0) return
  const startsSingleSignOn = !before.sso_auth && before.roles.length > 0
  const editorRoles = await findProviderEditorRoles(trx, after.client)
  if (editorRoles === undefined) return
  const lacked = gained.filter((role) => !hasRole(editorRoles, role))
  if (lacked.length > 0)
    throw problems.refused(
      startsSingleSignOn ? '/ssoAuth' : '/auths',
      `The last editor of this organisation’s SSO provider config does not hold ${lacked.join(', ')} and could sign in as this user. Ask a user with these roles to check that config and save it again.`,
    )
}

/**
 * Returns the roles of the user who last edited the organisation's provider config; undefined if it has no provider.
 */
async function findProviderEditorRoles(trx: Transaction<DB>, client: string): Promise<Role[] | undefined> {
  const selectEditorRoles = () =>
    sql<{ roles: Role[] }>`
      select coalesce(
        (select users.roles from users where users.uid = provider_configs.updated_by and users.status = 'ACTIVE'), '{}'
      ) as roles
      from sso_provider_configs provider_configs
      where provider_configs.client = ${client} for share of provider_configs`.execute(trx)
  const { rows } = await selectEditorRoles()
  if (rows[0]) return rows[0].roles
  // Creating a config locks the organisation too. After this lock, a second query sees a config that was just created.
  await sql`select from clients where uid = ${client} for share`.execute(trx)
  return (await selectEditorRoles()).rows[0]?.roles
}
