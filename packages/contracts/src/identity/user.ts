import { Type } from 'typebox'
import { type TypeOf, closed, contract } from '../contract.ts'
import { Email, Line, Reference, Timestamp, Uid, authored, bodyOf, named, recorded } from '../named.ts'
import { Roles } from '../roles.ts'
import { ListQuery, SearchRequest } from '../search.ts'
import { Client } from './client.ts'
import { NewPassword } from './passwords.ts'
import { UserGroup } from './user-group.ts'

export const userStatuses = ['INVITATION', 'ACTIVE', 'INACTIVE'] as const
export type UserStatus = (typeof userStatuses)[number]
export const startPages = ['DEFAULT', 'MANAGER', 'INTEGRATION', 'DATA_PIPELINE'] as const

const fields = {
  ...named,
  username: Type.String({ minLength: 2, maxLength: 100, pattern: '^\\P{Cc}*$', examples: ['ida'] }),
  email: Email,
  ssoAuth: Type.Boolean(),
  ssoId: Type.Optional(Line),
  auths: Type.Optional(Roles),
  fileAccessInstances: Type.Optional(Type.Array(Line, { uniqueItems: true, maxItems: 1000 })),
  startPage: Type.Enum([...startPages]),
  analyticsPlatformEnabled: Type.Optional(Type.Boolean()),
}

const Status = Type.Enum([...userStatuses])

/** Fields that only other operations change. A PUT body that would change them is rejected. */
const changedElsewhere = { twoFactorAuth: Type.Boolean(), status: Status }

const derived = {
  hasManagerAccess: Type.Boolean(),
  hasRouteAccess: Type.Boolean(),
  hasDataPipelineAccess: Type.Boolean(),
  hasUserAccess: Type.Boolean(),
  hasClientAccess: Type.Boolean(),
}

export const InvitationLink = Type.String({ maxLength: 2500 })

export const UserBody = contract(
  'UserBody',
  bodyOf(
    {
      ...fields,
      password: Type.Optional({
        ...NewPassword,
        description:
          'Refused with 422 unless the installation allows it (ADMIN_SETS_PASSWORDS): people choose their own passwords. Then it makes the user ACTIVE. Not for your own user.',
      }),
      twoFactorAuth: Type.Optional(
        Type.Boolean({
          description:
            'Ignored when it is what is stored. PUT refuses another value with 422: DELETE /users/{uid}/second-factor changes it.',
        }),
      ),
      status: Type.Optional({
        ...Status,
        description:
          'Ignored when it is what is stored. PUT refuses another value with 422: PUT /users/{uid}/status changes it.',
      }),
      lastUpdated: Type.Optional({
        ...Timestamp,
        description: 'When it is not that of the stored user, a PUT ignores `status` and `twoFactorAuth`.',
      }),
      client: Type.Optional(Reference),
      userGroups: Type.Optional(Type.Array(Reference, { uniqueItems: true, maxItems: 1000 })),
    },
    { ...recorded, ...authored, ...derived, existingAuths: Roles, invitationLink: InvitationLink },
  ),
)
export type UserBody = TypeOf<typeof UserBody>

/** Accepting the invitation ends INVITATION; a user who loses all sign-in methods returns to it. */
export const UserStatusBody = contract(
  'UserStatusBody',
  Type.Object({ status: Type.Enum(['ACTIVE', 'INACTIVE']) }, { additionalProperties: false }),
)
export type UserStatusBody = TypeOf<typeof UserStatusBody>

export const UserGroupSummary = contract(
  'UserGroupSummary',
  Type.Object({ id: Uid, client: Uid, name: Line, code: Line }, { additionalProperties: false }),
)
export type UserGroupSummary = TypeOf<typeof UserGroupSummary>

export const User = contract(
  'User',
  Type.Object(
    {
      ...recorded,
      ...authored,
      ...fields,
      auths: Roles,
      /** The roles before an update; only in its response. */
      existingAuths: Type.Optional(Roles),
      client: Client,
      userGroups: Type.Array(UserGroup, { maxItems: 1000 }),
      ...changedElsewhere,
      ...derived,
    },
    closed,
  ),
)
export type User = TypeOf<typeof User>

const analyticsPlatform = Type.Optional(Type.Boolean({ description: 'Only users for whom this is (not) enabled.' }))

export const UserSearchRequest = contract(
  'UserSearchRequest',
  Type.Object({ ...SearchRequest.properties, analyticsPlatform }, closed),
)
export type UserSearchRequest = TypeOf<typeof UserSearchRequest>

export const UserListQuery = contract(
  'UserListQuery',
  Type.Object({ ...ListQuery.properties, analyticsPlatform }, closed),
)
export type UserListQuery = TypeOf<typeof UserListQuery>

/** A user with, if no mail server can deliver it and the caller signed in directly, the link that accepts their invitation. */
export const InvitedUser = contract(
  'InvitedUser',
  Type.Object({ ...User.properties, invitationLink: Type.Optional(InvitationLink) }, closed),
)
export type InvitedUser = TypeOf<typeof InvitedUser>
