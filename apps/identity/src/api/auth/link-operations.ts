import { identityOperations } from '@sluice/contracts'
import { operation } from '../operation.ts'
import { acceptInvitation } from './accept-invitation.ts'
import { forgotPassword } from './forgot-password.ts'
import { resetPassword } from './reset-password.ts'

const { auth } = identityOperations
const nothing = () => undefined

/** Ways in for those who have no password, or not any more. */
export const authLinkOperations = {
  acceptInvitation: operation(auth.acceptInvitation, (input) => acceptInvitation(input.body, input).then(nothing)),
  forgotPassword: operation(auth.forgotPassword, (input) => forgotPassword(input.body, input).then(nothing)),
  resetPassword: operation(auth.resetPassword, (input) => resetPassword(input.body, input).then(nothing)),
}
