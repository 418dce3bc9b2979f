import { identityOperations, toSearchRequest, type UserStatusBody } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { mailSecondFactorChanged } from '../../email/queue-account-emails.ts'
import { listApiTokens, removeApiToken, removeApiTokensOfUser } from '../../sign-in/tokens/api-tokens.ts'
import { removeSecondFactor } from '../../sign-in/second-factor/second-factor.ts'
import { endSessionsOfUser, listSessions } from '../../sign-in/sessions/sessions.ts'
import { isUid } from '../../is-uid.ts'
import { presentApiToken } from '../account/api-tokens.ts'
import { presentSession } from '../account/sessions.ts'
import { type IdentityRequestContext, defineIdentityOperation } from '../operation-context.ts'
import { assertSuperAdminRemainsAfter, isActiveSuperAdmin } from '../role-grant-rules.ts'
import { toGroupAudit, listGroupsOfUser } from './group-member-operations.ts'
import { toUserAudit, userRecords, type UserRow, chooseUserRecords } from './records.ts'
import { assertNotOwnUser, lockManageableUser, readManageableUser } from './user-management-rules.ts'
import { createUser, updateUser } from './write.ts'

const { users } = identityOperations

export const userOperations = {
  // Must precede `read`, because its path would match "me" as an id.
  me: defineIdentityOperation(users.me, async (input) =>
    userRecords.answer(await userRecords.read(input.db, input.caller, input.caller.uid), input),
  ),

  list: defineIdentityOperation(users.list, (input) => {
    const { analyticsPlatform, ...query } = input.query
    return chooseUserRecords({ analyticsPlatform }).search(input.db, input, toSearchRequest(query), input.request.url)
  }),

  search: defineIdentityOperation(users.search, (input) => {
    const { analyticsPlatform, ...request } = input.body
    return chooseUserRecords({ analyticsPlatform }).search(input.db, input, request)
  }),

  create: defineIdentityOperation(users.create, async (input) =>
    userRecords.created(await createUser(input.body, input), input),
  ),

  read: defineIdentityOperation(users.read, async (input) =>
    userRecords.answer(await userRecords.read(input.db, input.caller, input.params.uid), input),
  ),

  update: defineIdentityOperation(users.update, (input) => updateUser(input.params.uid, input.body, input)),

  setStatus: defineIdentityOperation(users.setStatus, async (input) =>
    userRecords.answer(await setUserStatus(input.params.uid, input.body, input), input),
  ),

  delete: defineIdentityOperation(users.delete, async (input) => {
    await deleteUser(input.params.uid, input)
    return undefined
  }),
}

/** Deactivates a user and ends their sessions and API tokens, or reactivates a user who can sign in. */
async function setUserStatus(
  uid: string,
  { status }: UserStatusBody,
  { write, caller, request }: IdentityRequestContext,
): Promise<UserRow> {
  return write(async (trx) => {
    const before = await lockManageableUser(trx, caller, uid, request.ifMatch)
    if (status === 'ACTIVE') assertCanSignIn(before)
    else assertNotOwnUser(caller, before, '/status', 'deactivate')
    const updateRow = () => userRecords.update(trx, caller, before, { status })
    const deactivatesSuperAdmin = status === 'INACTIVE' && isActiveSuperAdmin(before)
    const after = deactivatesSuperAdmin
      ? await assertSuperAdminRemainsAfter(trx, '/status', updateRow)
      : await updateRow()
    if (status === 'INACTIVE') {
      await endSessionsOfUser(trx, before.id)
      await removeApiTokensOfUser(trx, before.id)
    }
    request.audit(before.uid, { before: toUserAudit(before), after: toUserAudit(after) })
    return after
  })
}

function assertCanSignIn({ password_hash, sso_auth }: UserRow): void {
  if (password_hash === null && !sso_auth)
    throw problems.refused('/status', 'This user cannot sign in yet. Send an invitation with POST /users/{uid}/invite.')
}

/**
 * Deletes a user with their sessions. Records that the user created are kept, but no longer show the user's name.
 * Throws 422 for the caller's own user and for the last super admin.
 */
async function deleteUser(uid: string, { write, caller, request }: IdentityRequestContext): Promise<void> {
  await write(async (trx) => {
    const before = await lockManageableUser(trx, caller, uid, request.ifMatch)
    assertNotOwnUser(caller, before, '/', 'delete')
    const left = await listGroupsOfUser(trx, before)
    const removeRow = () => userRecords.remove(trx, before)
    await (isActiveSuperAdmin(before) ? assertSuperAdminRemainsAfter(trx, '/', removeRow) : removeRow())
    request.audit(before.uid, { before: toUserAudit(before), ...toGroupAudit({ joined: [], left }) })
  })
}

/**
 * Operations on the sessions, tokens and second factors of other users. Callers must hold all roles of the affected
 * user.
 */
export const userAccessOperations = {
  removeSecondFactor: defineIdentityOperation(
    users.removeSecondFactor,
    async ({ write, config, caller, params, request }) => {
      await write(async (trx) => {
        const user = await lockManageableUser(trx, caller, params.uid, request.ifMatch)
        // Callers remove their own second factor only with a proof of identity, which an unattended session lacks.
        if (user.uid === caller.uid)
          throw problems.forbidden('Remove your own second factor with DELETE /users/me/second-factor.')
        const before = await removeSecondFactor(trx, user.id)
        if (before) await mailSecondFactorChanged(trx, config, user, 'removed')
        request.audit(user.uid, { before: { twoFactorAuth: before }, after: { twoFactorAuth: false } })
      })
      return undefined
    },
  ),

  listApiTokens: defineIdentityOperation(users.listApiTokens, async (input) => {
    const { id } = await readManageableUser(input, input.params.uid)
    return (await listApiTokens(input.db, id)).map(presentApiToken)
  }),

  deleteApiToken: defineIdentityOperation(users.deleteApiToken, async ({ write, caller, params, request }) => {
    await write(async (trx) => {
      const user = await lockManageableUser(trx, caller, params.uid)
      if (!isUid(params.apiToken) || !(await removeApiToken(trx, user.id, params.apiToken)))
        throw problems.notFound('API token')
      request.audit(user.uid, { apiToken: { id: params.apiToken } })
    })
    return undefined
  }),

  listSessions: defineIdentityOperation(users.listSessions, async (input) => {
    const { id } = await readManageableUser(input, input.params.uid)
    return (await listSessions(input.db, id)).map(presentSession(input.caller))
  }),

  endSessions: defineIdentityOperation(users.endSessions, async ({ write, caller, params, request }) => {
    await write(async (trx) => {
      const user = await lockManageableUser(trx, caller, params.uid)
      await endSessionsOfUser(trx, user.id, 'ENDED_BY_ADMIN')
      request.audit(user.uid)
    })
    return undefined
  }),
}
