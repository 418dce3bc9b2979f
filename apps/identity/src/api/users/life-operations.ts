import { identityOperations } from '@sluice/contracts'
import { operation } from '../operation.ts'
import { copyUser } from './copy-user.ts'
import { inviteUser, resendInvitation } from './invite-user.ts'
import { startPasswordReset } from './start-password-reset.ts'

const { users } = identityOperations

/** How users come to be, and come back in, by mail. */
export const userLifeOperations = {
  invite: operation(users.invite, (input) => inviteUser(input.body, input)),

  resendInvitation: operation(users.resendInvitation, (input) => resendInvitation(input.params.uid, input)),

  copy: operation(users.copy, (input) => copyUser(input.params.uid, input.body, input)),

  startPasswordReset: operation(users.startPasswordReset, async (input) => {
    await startPasswordReset(input.params.uid, input)
    return undefined
  }),
}
