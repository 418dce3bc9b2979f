import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { authored, body, Line, named, recorded, Reference, Uid } from '../named.ts'
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
  username: Type.String({ minLength: 2, maxLength: 100 }),
  email: Type.String({ format: 'email', maxLength: 254 }),
  ssoAuth: Type.Boolean(),
  ssoId: Type.Optional(Line),
  auths: Type.Optional(Roles),
  fileAccessInstances: Type.Optional(Type.Array(Line, { uniqueItems: true, maxItems: 1000 })),
  startPage: Type.Enum([...startPages]),
  analyticsPlatformEnabled: Type.Optional(Type.Boolean()),
}

const derived = {
  twoFactorAuth: Type.Boolean(),
  status: Type.Enum([...userStatuses]),
  hasManagerAccess: Type.Boolean(),
  hasRouteAccess: Type.Boolean(),
  hasDataPipelineAccess: Type.Boolean(),
  hasUserAccess: Type.Boolean(),
  hasClientAccess: Type.Boolean(),
}

export const UserBody = contract(
  'UserBody',
  body(
    {
      ...fields,
      /** Taken for others only, and only where a deployment allows it. */
      password: Type.Optional(NewPassword),
      client: Type.Optional(Reference),
      userGroups: Type.Optional(Type.Array(Reference, { uniqueItems: true, maxItems: 1000 })),
    },
    [...Object.keys(derived), 'existingAuths'],
  ),
)
export type UserBody = TypeOf<typeof UserBody>

/** INVITATION is left by accepting it; who loses every way to sign in comes back to it. */
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
      /** The roles before an update; only in the answer to one. */
      existingAuths: Type.Optional(Roles),
      client: Client,
      userGroups: Type.Array(UserGroup, { maxItems: 1000 }),
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
