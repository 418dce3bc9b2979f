import { signature } from '../../operation.ts'
import { recordSignatures } from '../../record-signatures.ts'
import { InvitedUser, User, UserBody, UserListQuery, UserSearchRequest, UserStatusBody } from '../user.ts'
import { listOf } from '../../contract.ts'
import { ApiToken, OpenSession } from '../account.ts'

const guard = ['ROLE_MANAGE_USER'] as const

/** Operations for invitations and password resets by email. */
const userLife = {
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

/** Operations of administrators on the sign-in methods of users with no more roles than their own. */
const userAccess = {
  removeSecondFactor: signature({
    id: 'users.removeSecondFactor',
    summary: 'Remove the second factor of a user',
    description: 'For users who lost theirs. Remove your own with the operation of your account.',
    method: 'delete',
    path: '/users/:uid/second-factor',
    guard: ['ROLE_MANAGE_USER'],
    ifMatch: true,
    // A leaked token must not weaken the sign-in of a user.
    inPerson: true,
  }),
  listApiTokens: signature({
    id: 'users.listApiTokens',
    summary: 'List the API tokens of a user',
    method: 'get',
    path: '/users/:uid/api-tokens',
    guard: ['ROLE_MANAGE_USER'],
    response: listOf(ApiToken),
  }),
  deleteApiToken: signature({
    id: 'users.deleteApiToken',
    summary: 'Delete an API token of a user',
    method: 'delete',
    path: '/users/:uid/api-tokens/:apiToken',
    guard: ['ROLE_MANAGE_USER'],
  }),
  listSessions: signature({
    id: 'users.listSessions',
    summary: 'List the open sessions of a user',
    method: 'get',
    path: '/users/:uid/sessions',
    guard: ['ROLE_MANAGE_USER'],
    response: listOf(OpenSession),
  }),
  endSessions: signature({
    id: 'users.endSessions',
    summary: 'End all sessions of a user',
    method: 'delete',
    path: '/users/:uid/sessions',
    guard: ['ROLE_MANAGE_USER'],
  }),
}

const records = recordSignatures({
  noun: 'user',
  plural: 'users',
  path: '/users',
  see: ['ROLE_MANAGE_USER'],
  manage: ['ROLE_MANAGE_USER'],
  resource: User,
  body: UserBody,
})

export const users = {
  me: signature({
    id: 'users.me',
    summary: 'Read your own user',
    method: 'get',
    path: '/users/me',
    guard: 'signed-in',
    otherMethods:
      'Your password, e-mail address, second factor, API tokens and sessions have addresses of their own below /users/me; PUT /users/{your id} changes the rest.',
    response: User,
    versioned: true,
  }),
  ...records,
  list: signature({ ...records.list, query: UserListQuery }),
  search: signature({ ...records.search, body: UserSearchRequest }),
  create: signature({
    ...records.create,
    description:
      'Takes users with `ssoAuth`, who sign in at a provider. A user without it chooses their own password: POST /users/invite. Where the operator sets `ADMIN_SETS_PASSWORDS`, users with and without a `password` are taken too.',
  }),
  setStatus: signature({
    id: 'users.setStatus',
    summary: 'Let a user in, or shut them out',
    description: 'INACTIVE ends every session and token of the user at once.',
    method: 'put',
    path: '/users/:uid/status',
    guard: ['ROLE_MANAGE_USER'],
    body: UserStatusBody,
    response: User,
    versioned: true,
  }),
  ...userAccess,
  ...userLife,
}
