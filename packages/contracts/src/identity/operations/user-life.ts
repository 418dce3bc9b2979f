import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { InvitedUser } from '../invited-user.ts'
import { UserBody } from '../user.ts'

const guard = ['ROLE_MANAGE_USER'] as const

/** How users come to be, and come back in, by mail. */
export const userLife = {
  invite: signature({
    id: 'users.invite',
    summary: 'Invite a user',
    description:
      'Mails a link that works once, for seven days. Without a mail server the link is in the answer to people in person, to be handed over.',
    method: 'post',
    path: '/users/invite',
    guard,
    status: 201,
    body: UserBody,
    response: InvitedUser,
    versioned: true,
  }),
  resendInvitation: signature({
    id: 'users.resendInvitation',
    summary: 'Invite a user again',
    description: 'Mails a new link; the old one stops working.',
    method: 'post',
    path: '/users/:uid/invite',
    guard,
    ifMatch: true,
    response: InvitedUser,
    versioned: true,
  }),
  copy: signature({
    id: 'users.copy',
    summary: 'Make a user like another',
    description:
      'The new user gets the roles, the groups and the client of the other, and the rest from the body. Without a password or single sign-on they are invited. Answers the original and the copy.',
    method: 'post',
    path: '/users/:uid/copies',
    guard,
    ifMatch: true,
    status: 201,
    body: UserBody,
    response: listOf(InvitedUser),
  }),
  startPasswordReset: signature({
    id: 'users.startPasswordReset',
    summary: 'Mail a user a link to choose a new password',
    description: 'It works once, for an hour. The old password works until then.',
    method: 'post',
    path: '/users/:uid/password-reset',
    guard,
    ifMatch: true,
  }),
}
