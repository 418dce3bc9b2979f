import { defineSignature } from '../../operation-signature.ts'
import { defineRecordSignatures } from '../../crud-operation-signatures.ts'
import { InvitedUser, User, UserBody, UserListQuery, UserSearchRequest, UserStatusBody } from '../user.ts'
import { listOf } from '../../contract.ts'
import { ApiToken, OpenSession } from '../account.ts'

const manageUsers = ['ROLE_MANAGE_USER'] as const

/** Operations for invitations and password resets by email. */
const userLife = {
  invite: defineSignature({
    id: 'users.invite',
    summary: 'Invite a user',
    description:
      'Emails a link that can be used once within seven days. If no mail server is configured, the response contains the link for callers who signed in directly.',
    method: 'post',
    path: '/users/invite',
    guard: manageUsers,
    status: 201,
    body: UserBody,
    response: InvitedUser,
    versioned: true,
  }),
  resendInvitation: defineSignature({
    id: 'users.resendInvitation',
    summary: 'Invite a user again',
    description: 'Sends a new link by email; the old one becomes invalid.',
    method: 'post',
    path: '/users/:uid/invite',
    guard: manageUsers,
    ifMatch: true,
    response: InvitedUser,
    versioned: true,
  }),
  copy: defineSignature({
    id: 'users.copy',
    summary: 'Copy a user',
    description:
      'The new user gets the roles, groups and client of the original user, and all other fields from the body. A new user without a password and single sign-on receives an invitation. Returns the original and the new user.',
    method: 'post',
    path: '/users/:uid/copies',
    guard: manageUsers,
    ifMatch: true,
    status: 201,
    body: UserBody,
    response: listOf(InvitedUser),
  }),
  startPasswordReset: defineSignature({
    id: 'users.startPasswordReset',
    summary: 'Send a user a password reset link',
    description:
      'The link can be used once within one hour. The old password stays valid until the user sets a new one.',
    method: 'post',
    path: '/users/:uid/password-reset',
    guard: manageUsers,
    ifMatch: true,
  }),
}

/**
 * Operations with which administrators change the sign-in methods of other users. An administrator cannot change a user
 * with roles that the administrator lacks.
 */
const userAccess = {
  removeSecondFactor: defineSignature({
    id: 'users.removeSecondFactor',
    summary: 'Remove the second factor of a user',
    description: 'For users who have lost their second factor. For your own, use DELETE /users/me/second-factor.',
    method: 'delete',
    path: '/users/:uid/second-factor',
    guard: ['ROLE_MANAGE_USER'],
    ifMatch: true,
    // The caller must have signed in directly, so that a leaked token cannot weaken the sign-in of a user.
    inPerson: true,
  }),
  listApiTokens: defineSignature({
    id: 'users.listApiTokens',
    summary: 'List the API tokens of a user',
    method: 'get',
    path: '/users/:uid/api-tokens',
    guard: ['ROLE_MANAGE_USER'],
    response: listOf(ApiToken),
  }),
  deleteApiToken: defineSignature({
    id: 'users.deleteApiToken',
    summary: 'Delete an API token of a user',
    method: 'delete',
    path: '/users/:uid/api-tokens/:apiToken',
    guard: ['ROLE_MANAGE_USER'],
  }),
  listSessions: defineSignature({
    id: 'users.listSessions',
    summary: 'List the open sessions of a user',
    method: 'get',
    path: '/users/:uid/sessions',
    guard: ['ROLE_MANAGE_USER'],
    response: listOf(OpenSession),
  }),
  endSessions: defineSignature({
    id: 'users.endSessions',
    summary: 'End all sessions of a user',
    method: 'delete',
    path: '/users/:uid/sessions',
    guard: ['ROLE_MANAGE_USER'],
  }),
}

const userRecordSignatures = defineRecordSignatures({
  noun: 'user',
  plural: 'users',
  path: '/users',
  see: ['ROLE_MANAGE_USER'],
  manage: ['ROLE_MANAGE_USER'],
  resource: User,
  body: UserBody,
})

export const userSignatures = {
  me: defineSignature({
    id: 'users.me',
    summary: 'Read your own user',
    method: 'get',
    path: '/users/me',
    guard: 'signed-in',
    otherMethods:
      'Change your password, email address, second factor, API tokens and sessions with the operations below /users/me, and all other fields with PUT /users/{your id}.',
    response: User,
    versioned: true,
  }),
  ...userRecordSignatures,
  list: defineSignature({ ...userRecordSignatures.list, query: UserListQuery }),
  search: defineSignature({ ...userRecordSignatures.search, body: UserSearchRequest }),
  create: defineSignature({
    ...userRecordSignatures.create,
    description:
      'Creates users with `ssoAuth`, who sign in at a provider. Use POST /users/invite for all others, who set their own password. If the operator sets `ADMIN_SETS_PASSWORDS`, this operation also accepts users without `ssoAuth`; their `password` is optional.',
  }),
  setStatus: defineSignature({
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
