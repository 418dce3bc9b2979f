import { type UserStatusBody, identityOperations, searchOf } from '@sluice/contracts'
import { type IdentityRequestContext, operation } from '../operation.ts'
import { createUser } from './create-user.ts'
import { userRecords, usersWhere } from './records.ts'
import { updateUser } from './update-user.ts'
import { problems } from '@sluice/http-server'
import { removeApiTokensOfUser } from '../../sign-in/tokens/api-tokens.ts'
import { endSessionsOfUser } from '../../sign-in/sessions/sessions.ts'
import { canAdminister, assertSuperAdminRemainsAfter } from './assert-administrators-remain.ts'
import { auditedOf } from './columns.ts'
import type { UserRow } from './row.ts'
import { assertMayManageUser, assertNotOwnUser } from './rules.ts'
import { auditedGroups, groupsOf } from './groups.ts'

const { users } = identityOperations

export const userOperations = {
  // Must precede `read`, because its path would match "me" as an id.
  me: operation(users.me, async (input) =>
    userRecords.answer(await userRecords.read(input.db, input.caller, input.caller.uid), input),
  ),

  list: operation(users.list, (input) => {
    const { analyticsPlatform, ...query } = input.query
    return usersWhere({ analyticsPlatform }).search(input.db, input, searchOf(query), input.request.url)
  }),

  search: operation(users.search, (input) => {
    const { analyticsPlatform, ...request } = input.body
    return usersWhere({ analyticsPlatform }).search(input.db, input, request)
  }),

  create: operation(users.create, async (input) => userRecords.created(await createUser(input.body, input), input)),

  read: operation(users.read, async (input) =>
    userRecords.answer(await userRecords.read(input.db, input.caller, input.params.uid), input),
  ),

  update: operation(users.update, (input) => updateUser(input.params.uid, input.body, input)),

  setStatus: operation(users.setStatus, async (input) =>
    userRecords.answer(await setUserStatus(input.params.uid, input.body, input), input),
  ),

  delete: operation(users.delete, async (input) => {
    await deleteUser(input.params.uid, input)
    return undefined
  }),
}

/** Deactivates a user and ends their sessions and API tokens, or reactivates a user who has a way to sign in. */
async function setUserStatus(
  uid: string,
  { status }: UserStatusBody,
  { write, caller, request }: IdentityRequestContext,
): Promise<UserRow> {
  return write(async (trx) => {
    const before = await userRecords.lock(trx, caller, uid, request.ifMatch)
    assertMayManageUser(caller, before)
    if (status === 'ACTIVE') assertCanSignIn(before)
    else assertNotOwnUser(caller, before, '/status', 'deactivate')
    const change = () => userRecords.update(trx, caller, before, { status })
    const losesPower = status === 'INACTIVE' && canAdminister(before)
    const after = losesPower ? await assertSuperAdminRemainsAfter(trx, '/status', change) : await change()
    if (status === 'INACTIVE') {
      await endSessionsOfUser(trx, before.id)
      await removeApiTokensOfUser(trx, before.id)
    }
    request.audit(before.uid, { before: auditedOf(before), after: auditedOf(after) })
    return after
  })
}

function assertCanSignIn({ password_hash, sso_auth }: UserRow): void {
  if (password_hash === null && !sso_auth)
    throw problems.refused(
      '/status',
      'This user has no way to sign in yet: send them an invitation, with POST /users/{uid}/invite.',
    )
}

/** Deletes a user and their sessions. The records that they created stay, without their name. */
async function deleteUser(uid: string, { write, caller, request }: IdentityRequestContext): Promise<void> {
  await write(async (trx) => {
    const before = await userRecords.lock(trx, caller, uid, request.ifMatch)
    assertMayManageUser(caller, before)
    assertNotOwnUser(caller, before, '/', 'delete')
    const left = await groupsOf(trx, before)
    const change = () => userRecords.remove(trx, before)
    await (canAdminister(before) ? assertSuperAdminRemainsAfter(trx, '/', change) : change())
    request.audit(before.uid, { before: auditedOf(before), ...auditedGroups({ joined: [], left }) })
  })
}
