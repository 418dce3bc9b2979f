import { listOf } from '../contract.ts'
import { signature } from '../operation.ts'
import { recordSignatures } from '../record-signatures.ts'
import { Client, ClientBody } from './client.ts'
import { ClientSummary, LookupBody, Standing, StandingQuery, UserSummary } from './lookups.ts'
import { Session } from './session.ts'
import { LoginBody, RefreshBody, Tokens } from './sign-in.ts'
import { User, UserBody, UserGroupSummary, UserListQuery, UserSearchRequest, UserStatusBody } from './user.ts'

const clients = recordSignatures({
  noun: 'client',
  plural: 'clients',
  path: '/clients',
  see: ['ROLE_MANAGE_CLIENT'],
  manage: ['ROLE_SUPER_ADMIN'],
  resource: Client,
  body: ClientBody,
})

const users = recordSignatures({
  noun: 'user',
  plural: 'users',
  path: '/users',
  see: ['ROLE_MANAGE_USER'],
  manage: ['ROLE_MANAGE_USER'],
  resource: User,
  body: UserBody,
})

/** Everything that the identity service can be asked. */
export const identityOperations = {
  clients: {
    ...clients,
    updateProfile: signature({
      id: 'clients.updateProfile',
      summary: 'Change how a client presents itself',
      description:
        "For a client's own administrators. Takes the whole client and applies its name, translations, contacts and routeNotificationEmailAddresses; anything else that differs from what is stored is refused with 403.",
      method: 'put',
      path: '/clients/:uid/profile',
      guard: ['ROLE_MANAGE_CLIENT'],
      body: ClientBody,
      response: Client,
      versioned: true,
    }),
  },
  users: {
    me: signature({
      id: 'users.me',
      summary: 'Read your own user',
      method: 'get',
      path: '/users/me',
      guard: 'signed-in',
      response: User,
      versioned: true,
    }),
    ...users,
    list: signature({ ...users.list, query: UserListQuery }),
    search: signature({ ...users.search, body: UserSearchRequest }),
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
  },
  session: {
    read: signature({
      id: 'session.read',
      summary: 'Who is signed in, and for which client',
      method: 'get',
      path: '/session',
      guard: 'signed-in',
      response: Session,
    }),
  },
  auth: {
    login: signature({
      id: 'auth.login',
      summary: 'Sign in with a password',
      method: 'post',
      path: '/auth/login',
      guard: 'anyone',
      body: LoginBody,
      response: Tokens,
    }),
    refresh: signature({
      id: 'auth.refresh',
      summary: 'Exchange a refresh token, once, for new tokens',
      method: 'post',
      path: '/auth/refresh',
      guard: 'anyone',
      body: RefreshBody,
      response: Tokens,
    }),
    logout: signature({
      id: 'auth.logout',
      summary: 'End the session of this token',
      method: 'post',
      path: '/auth/logout',
      guard: 'signed-in',
    }),
  },
  /** Asked by the pipeline service. Not for people: the guard is the services' own secret. */
  lookups: {
    standing: signature({
      id: 'lookups.standing',
      summary: "A user's standing in one session",
      method: 'get',
      path: '/lookups/users/:uid/standing',
      guard: 'service',
      query: StandingQuery,
      response: Standing,
    }),
    users: signature({
      id: 'lookups.users',
      summary: 'Names of users',
      method: 'post',
      path: '/lookups/users',
      guard: 'service',
      effect: 'read',
      body: LookupBody,
      response: listOf(UserSummary),
    }),
    userGroups: signature({
      id: 'lookups.userGroups',
      summary: 'Names of user groups',
      method: 'post',
      path: '/lookups/user-groups',
      guard: 'service',
      effect: 'read',
      body: LookupBody,
      response: listOf(UserGroupSummary),
    }),
    clients: signature({
      id: 'lookups.clients',
      summary: 'Clients by id',
      method: 'post',
      path: '/lookups/clients',
      guard: 'service',
      effect: 'read',
      body: LookupBody,
      response: listOf(ClientSummary),
    }),
  },
}
