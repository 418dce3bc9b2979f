import { sql, type Transaction } from 'kysely'
import { hasRole, type User, type UserBody } from '@sluice/contracts'
import { type JsonResponse, problems } from '@sluice/http-server'
import { assertUnchanged } from '@sluice/records'
import type { DB } from '../../database.ts'
import { mailEmailChanged, mailPasswordChanged } from '../../email/queue-account-emails.ts'
import { removeApiTokensOfUser } from '../../sign-in/tokens/api-tokens.ts'
import { revokeLinks } from '../../sign-in/tokens/one-time-links.ts'
import { hashPassword } from '../../sign-in/password/password-hashing.ts'
import { checkPassword, type PasswordOwner } from '../../sign-in/password/password-rules.ts'
import { removeSecondFactor } from '../../sign-in/second-factor/second-factor.ts'
import { endSessionsOfUser } from '../../sign-in/sessions/sessions.ts'
import { assertClientUnchanged, resolveClient } from '../clients/records.ts'
import type { IdentityRequestContext } from '../operation-context.ts'
import {
  assertGrantable,
  assertManagerRemains,
  assertSuperAdminRemainsAfter,
  isActiveSuperAdmin,
} from '../role-grant-rules.ts'
import { toGroupAudit, type GroupChange, replaceGroups } from './group-member-operations.ts'
import { toUserAudit, toUserColumns, userRecords, type UserRow } from './records.ts'
import {
  assertNotOwnPassword,
  assertOwnSignInUnchanged,
  assertPasswordAllowed,
  assertProviderTrusted,
  lockManageableUser,
  readManageableUser,
} from './user-management-rules.ts'

/**
 * Creates a user. A user with a password is ACTIVE. A user with single sign-on is INVITATION until the first sign-in. A
 * user with neither is refused with 422; but if administrators may set passwords, the user is created with status
 * INVITATION, and a later update or invitation sets the password.
 */
export async function createUser(body: UserBody, input: IdentityRequestContext): Promise<UserRow> {
  const { write, caller, config, request } = input
  assertGrantable(caller, body.auths ?? [])
  assertPasswordAllowed(body, config.ADMIN_SETS_PASSWORDS)
  if (!config.ADMIN_SETS_PASSWORDS && !body.ssoAuth)
    throw problems.refused(
      '/ssoAuth',
      'Users without single sign-on choose their own password. Invite the user with POST /users/invite.',
    )
  const hash = await hashBodyPassword(body, resolveNewUserClient(body, caller), input)

  return write(async (trx) => {
    const { user, groups } = await insertUser(trx, body, hash, input)
    request.audit(user.uid, { after: toUserAudit(user), ...toGroupAudit(groups) })
    return user
  })
}

/** Checks and hashes the password of a request body. Returns null if the body has no password. */
export async function hashBodyPassword(
  body: UserBody,
  client: string,
  { db }: Pick<IdentityRequestContext, 'db'>,
): Promise<string | null> {
  const { password, name, username, email } = body
  if (password === undefined) return null
  const { rows } = await sql<Pick<PasswordOwner, 'clientName' | 'clientCode'>>`
    select name as "clientName", code as "clientCode" from clients where uid = ${client}`.execute(db)
  // If the organisation does not exist, the insertion rejects it later.
  const clientNames = rows[0] ?? { clientName: '', clientCode: '' }
  checkPassword(password, { name, username, email, ...clientNames })
  return hashPassword(password)
}

/** Returns the organisation of a new user. Only super admins can choose another one than their own. */
const resolveNewUserClient = ({ client }: UserBody, caller: IdentityRequestContext['caller']): string =>
  client && hasRole(caller.roles, 'ROLE_SUPER_ADMIN') ? client.id.toLowerCase() : caller.client

/**
 * Inserts a user with their groups. The default status is ACTIVE with a password, otherwise INVITATION; `status`
 * overrides it.
 */
export async function insertUser(
  trx: Transaction<DB>,
  body: UserBody,
  hash: string | null,
  { caller }: Pick<IdentityRequestContext, 'caller'>,
  status: UserRow['status'] = hash !== null ? 'ACTIVE' : 'INVITATION',
): Promise<{ user: UserRow; groups: GroupChange }> {
  const user = await userRecords.insert(trx, caller, {
    ...toUserColumns(body),
    client: await resolveClient(trx, caller, body.client?.id),
    password_hash: hash,
    status,
  })
  await assertProviderTrusted(trx, user)
  return { user, groups: await replaceGroups(trx, caller, user, body.userGroups) }
}

/**
 * Replaces a user. Ends the sessions and tokens that the change makes invalid, and notifies the user by mail of a
 * changed password or address. The response includes the previous roles.
 */
export async function updateUser(
  uid: string,
  body: UserBody,
  input: IdentityRequestContext,
): Promise<JsonResponse<User>> {
  const { write, caller, config, request } = input
  // These checks run before the password is hashed, which is expensive, and again under the lock.
  const currentRow = await readManageableUser(input, uid)
  assertGrantable(caller, body.auths ?? [])
  assertNotOwnPassword(body, currentRow.uid === caller.uid)
  assertPasswordAllowed(body, config.ADMIN_SETS_PASSWORDS)
  const hash = await hashBodyPassword(body, currentRow.client, input)

  const { before, after } = await write(async (trx) => {
    const before = await lockManageableUser(trx, caller, uid, request.ifMatch)
    assertUnchanged(body.lastUpdated, before.updated_at, listFixedFields(body, before))
    assertClientUnchanged(body, before, 'A user')
    const columns = {
      ...toUserColumns(body),
      ...computeCredentialColumns(before, body, hash),
      ...toOwnEmailColumn(before, body),
    }
    if (before.uid === caller.uid) assertOwnSignInUnchanged(before, columns)
    // The provider of the single sign-on verifies the second factor from now on.
    if (body.ssoAuth && before.two_factor_auth) await removeSecondFactor(trx, before.id)
    const updateRow = () => userRecords.update(trx, caller, before, columns)
    const after = losesSuperAdmin(before, columns)
      ? await assertSuperAdminRemainsAfter(trx, findSuperAdminPointer(body), updateRow)
      : await updateRow()
    if (before.uid === caller.uid) await assertManagerRemains(trx, before, after)
    await assertProviderTrusted(trx, after, before)
    const groups = await replaceGroups(trx, caller, after, body.userGroups)
    await endOutdatedAccess(trx, before, after)
    await mailChanges(trx, config, before, after)
    request.audit(before.uid, { before: toUserAudit(before), after: toUserAudit(after), ...toGroupAudit(groups) })
    return { before, after }
  })
  const answer = await userRecords.answer(after, input)
  answer.body.existingAuths = before.roles
  return answer
}

/**
 * Returns the password hash and the status after an update. A user has either single sign-on or a password. An invited
 * user becomes active when an update sets a password, or at the first single sign-on. A user who loses the only way to
 * sign in becomes INVITATION and must be invited again. `newHash` is null if the update sets no password.
 */
function computeCredentialColumns(
  { status, password_hash: currentHash }: UserRow,
  { ssoAuth }: UserBody,
  newHash: string | null,
): Pick<UserRow, 'password_hash' | 'status'> {
  const password_hash = ssoAuth ? null : (newHash ?? currentHash)
  const canSignIn = ssoAuth || password_hash !== null
  if (status === 'INVITATION' && newHash !== null) return { password_hash, status: 'ACTIVE' }
  if (status === 'ACTIVE' && !canSignIn) return { password_hash, status: 'INVITATION' }
  return { password_hash, status }
}

/**
 * Lists the fields that this operation cannot change, for `assertUnchanged`: the value in the body, the stored value,
 * and a message that names the operation that can change it.
 */
const listFixedFields = ({ status, twoFactorAuth }: UserBody, before: UserRow) => [
  {
    pointer: '/status',
    sent: status,
    stored: before.status,
    instead: `This user is ${before.status}. Change the status with PUT /users/{uid}/status.`,
  },
  {
    pointer: '/twoFactorAuth',
    sent: twoFactorAuth,
    stored: before.two_factor_auth,
    instead: before.two_factor_auth
      ? 'Remove the second factor with DELETE /users/{uid}/second-factor.'
      : 'People set up their own second factor, with POST /users/me/second-factor.',
  },
]

/**
 * Returns the column with the time when users set their own address. An administrator's change of the address sets it
 * to null.
 */
const toOwnEmailColumn = ({ email, own_email_since }: UserRow, body: UserBody): Pick<UserRow, 'own_email_since'> => ({
  own_email_since: body.email === email ? own_email_since : null,
})

/** Returns whether a super admin loses the role or the way to sign in with a password. */
const losesSuperAdmin = (before: UserRow, columns: Pick<UserRow, 'roles' | 'password_hash' | 'status'>): boolean =>
  isActiveSuperAdmin(before) && !isActiveSuperAdmin({ ...before, ...columns })

/**
 * Returns the JSON pointer of the field that removes the last super admin: single sign-on if the body keeps the role,
 * otherwise the roles.
 */
const findSuperAdminPointer = ({ auths = [] }: UserBody) => (auths.includes('ROLE_SUPER_ADMIN') ? '/ssoAuth' : '/auths')

/** Ends the sessions, API tokens and one-time links that an update of a user makes invalid. */
async function endOutdatedAccess(trx: Transaction<DB>, before: UserRow, after: UserRow): Promise<void> {
  const losesRole = before.roles.some((role) => !after.roles.includes(role))
  const passwordChanged = before.password_hash !== after.password_hash
  // After a change of the sign-in method or of the provider's user id, the account may belong to another person.
  const mayBeAnotherPerson = before.sso_auth !== after.sso_auth || (after.sso_auth && before.sso_id !== after.sso_id)
  const statusChanged = before.status !== after.status
  const mustSignInAgain =
    losesRole || passwordChanged || mayBeAnotherPerson || statusChanged || becomesSuperAdmin(before, after)
  if (mustSignInAgain) await endSessionsOfUser(trx, before.id)
  if (mayBeAnotherPerson) await removeApiTokensOfUser(trx, before.id)
  if (passwordChanged) await revokeLinks(trx, after.id)
}

/**
 * Returns whether the user becomes a super admin. Their sessions then end, because the pipeline service must know from
 * a session's first request that a super admin uses it: only those can switch organisations, so it does not cache their
 * organisation.
 */
const becomesSuperAdmin = (before: UserRow, after: UserRow): boolean =>
  after.roles.includes('ROLE_SUPER_ADMIN') && !before.roles.includes('ROLE_SUPER_ADMIN')

/** Mails the user a notice of a changed password, and the previous address of an active user a notice of its change. */
async function mailChanges(
  trx: Transaction<DB>,
  config: IdentityRequestContext['config'],
  before: UserRow,
  after: UserRow,
): Promise<void> {
  if (after.password_hash !== null && before.password_hash !== after.password_hash)
    await mailPasswordChanged(trx, config, after)
  if (before.email !== after.email && before.status === 'ACTIVE') await mailEmailChanged(trx, config, before)
}
