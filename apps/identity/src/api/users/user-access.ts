import { identityOperations } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { mailSecondFactorChanged } from '../../email/notices.ts'
import { apiTokensOf, removeApiToken } from '../../sign-in/tokens/api-tokens.ts'
import { removeSecondFactor } from '../../sign-in/second-factor/second-factor.ts'
import { endSessionsOfUser, openSessionsOf } from '../../sign-in/sessions/sessions.ts'
import { isUid } from '../../uid.ts'
import { presentApiToken } from '../account/api-tokens.ts'
import { presentSession } from '../account/sessions.ts'
import { operation, type IdentityRequestContext } from '../operation.ts'
import { userRecords } from './records.ts'
import type { UserRow } from './row.ts'
import { assertMayManageUser } from './rules.ts'

const { users } = identityOperations

/** Lets administrators manage sessions, tokens and second factors of users whose roles they hold too. */
export const userAccessOperations = {
  removeSecondFactor: operation(users.removeSecondFactor, async ({ write, config, caller, params, request }) => {
    await write(async (trx) => {
      const user = await userRecords.lock(trx, caller, params.uid, request.ifMatch)
      assertMayManageUser(caller, user)
      // Callers remove their own second factor only with a proof of identity, which an unattended session lacks.
      if (user.uid === caller.uid) throw problems.forbidden('Remove your own at /users/me/second-factor.')
      const before = await removeSecondFactor(trx, user.id)
      if (before) await mailSecondFactorChanged(trx, config, user, 'removed')
      request.audit(user.uid, { before: { twoFactorAuth: before }, after: { twoFactorAuth: false } })
    })
    return undefined
  }),

  listApiTokens: operation(users.listApiTokens, async (input) => {
    const { id } = await underPower(input, input.params.uid)
    return (await apiTokensOf(input.db, id)).map(presentApiToken)
  }),

  deleteApiToken: operation(users.deleteApiToken, async ({ write, caller, params, request }) => {
    await write(async (trx) => {
      const user = await userRecords.lock(trx, caller, params.uid, undefined)
      assertMayManageUser(caller, user)
      if (!isUid(params.apiToken) || !(await removeApiToken(trx, user.id, params.apiToken)))
        throw problems.notFound('API token')
      request.audit(user.uid, { apiToken: { id: params.apiToken } })
    })
    return undefined
  }),

  listSessions: operation(users.listSessions, async (input) => {
    const { id } = await underPower(input, input.params.uid)
    return (await openSessionsOf(input.db, id)).map(presentSession(input.caller))
  }),

  endSessions: operation(users.endSessions, async ({ write, caller, params, request }) => {
    await write(async (trx) => {
      const user = await userRecords.lock(trx, caller, params.uid, undefined)
      assertMayManageUser(caller, user)
      await endSessionsOfUser(trx, user.id, 'ENDED_BY_ADMIN')
      request.audit(user.uid)
    })
    return undefined
  }),
}

async function underPower({ db, caller }: IdentityRequestContext, uid: string): Promise<UserRow> {
  const user = await userRecords.read(db, caller, uid)
  assertMayManageUser(caller, user)
  return user
}
