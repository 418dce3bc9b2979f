import { signature } from '../../operation.ts'
import { AcceptInvitationBody, ForgotPasswordBody, ResetPasswordBody } from '../passwords.ts'

/** Ways in for those who have no password, or not any more. */
export const authLinks = {
  acceptInvitation: signature({
    id: 'auth.acceptInvitation',
    summary: 'Accept an invitation, and choose a password',
    description: 'The user is ACTIVE then, and signs in. With single sign-on there is no password to choose.',
    method: 'post',
    path: '/auth/accept-invitation',
    guard: 'anyone',
    body: AcceptInvitationBody,
  }),
  forgotPassword: signature({
    id: 'auth.forgotPassword',
    summary: 'Ask for a mail with a link to choose a new password',
    description: 'Always answers the same, whether there is such a user or not.',
    method: 'post',
    path: '/auth/forgot-password',
    guard: 'anyone',
    body: ForgotPasswordBody,
  }),
  resetPassword: signature({
    id: 'auth.resetPassword',
    summary: 'Choose a new password by a mailed link',
    description: 'Ends every session of the user.',
    method: 'post',
    path: '/auth/reset-password',
    guard: 'anyone',
    body: ResetPasswordBody,
  }),
}
