import { signature } from '../../operation.ts'
import { recordSignatures } from '../../record-signatures.ts'
import { userAccess } from './user-access.ts'
import { userLife } from './user-life.ts'
import { User, UserBody, UserListQuery, UserSearchRequest, UserStatusBody } from '../user.ts'

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
