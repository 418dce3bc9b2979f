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
      'Sends a single-use link by email, valid for seven days. Without a mail server, callers who signed in directly get the link in the response.',
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
    description: 'Sends a new link by email; the old one becomes invalid.',
    method: 'post',
    path: '/users/:uid/invite',
    guard,
    ifMatch: true,
    response: InvitedUser,
    versioned: true,
  }),
  copy: signature({
    id: 'users.copy',
    summary: 'Copy a user',
    description:
      'The new user gets the roles, groups and client of the original, and all other fields from the body. A user without a password or single sign-on is invited. Returns the original and the copy.',
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
    summary: 'Send a user a password reset link',
    description: 'The link is valid once and for one hour. The old password stays valid until a new one is set.',
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
    description: 'For users who lost it. Use the operation of your account for your own.',
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
      'Your password, email address, second factor, API tokens and sessions have operations below /users/me; PUT /users/{your id} changes the rest.',
    response: User,
    versioned: true,
  }),
  ...records,
  list: signature({ ...records.list, query: UserListQuery }),
  search: signature({ ...records.search, body: UserSearchRequest }),
  create: signature({
    ...records.create,
    description:
      'Accepts users with `ssoAuth`, who sign in at a provider. Other users set their own password: use POST /users/invite. If the operator sets `ADMIN_SETS_PASSWORDS`, users without `ssoAuth` are accepted, with and without a `password`.',
  }),
  setStatus: signature({
    id: 'users.setStatus',
    summary: 'Activate or deactivate a user',
    description: 'INACTIVE ends all sessions and tokens of the user immediately.',
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
