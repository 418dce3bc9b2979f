import { Type } from 'typebox'
import { type TypeOf, noUnknownFields, defineContract } from '../contract.ts'
import {
  EmailAddress,
  SingleLineText,
  ObjectReference,
  Timestamp,
  Uid,
  authorFields,
  bodyOf,
  namedFields,
  recordFields,
} from '../field-types.ts'
import { RoleList } from '../roles.ts'
import { ListQuery, SearchRequest } from '../search.ts'
import { Client } from './client.ts'
import { NewPassword } from './passwords.ts'
import { UserGroup } from './user-group.ts'

export const userStatuses = ['INVITATION', 'ACTIVE', 'INACTIVE'] as const
export type UserStatus = (typeof userStatuses)[number]
export const startPages = ['DEFAULT', 'MANAGER', 'INTEGRATION', 'DATA_PIPELINE'] as const

const userFields = {
  ...namedFields,
  username: Type.String({ minLength: 2, maxLength: 100, pattern: '^\\P{Cc}*$', examples: ['ida'] }),
  email: EmailAddress,
  ssoAuth: Type.Boolean(),
  ssoId: Type.Optional(SingleLineText),
  auths: Type.Optional(RoleList),
  fileAccessInstances: Type.Optional(Type.Array(SingleLineText, { uniqueItems: true, maxItems: 1000 })),
  startPage: Type.Enum([...startPages]),
  analyticsPlatformEnabled: Type.Optional(Type.Boolean()),
}

const UserStatusField = Type.Enum([...userStatuses])

/** Fields that PUT cannot change, because separate operations change them. A PUT body with other values is rejected. */
const changedElsewhere = { twoFactorAuth: Type.Boolean(), status: UserStatusField }

const derivedFields = {
  hasManagerAccess: Type.Boolean(),
  hasRouteAccess: Type.Boolean(),
  hasDataPipelineAccess: Type.Boolean(),
  hasUserAccess: Type.Boolean(),
  hasClientAccess: Type.Boolean(),
}

export const InvitationLink = Type.String({ maxLength: 2500 })

export const UserBody = defineContract(
  'UserBody',
  bodyOf(
    {
      ...userFields,
      password: Type.Optional({
        ...NewPassword,
        description:
          'Rejected with 422 unless the operator has set ADMIN_SETS_PASSWORDS, because users set their own passwords. A password makes the user ACTIVE. You cannot set your own password here.',
      }),
      twoFactorAuth: Type.Optional(
        Type.Boolean({
          description:
            'PUT ignores the stored value and rejects any other value with 422. Use DELETE /users/{uid}/second-factor to change it.',
        }),
      ),
      status: Type.Optional({
        ...UserStatusField,
        description:
          'PUT ignores the stored value and rejects any other value with 422. Use PUT /users/{uid}/status to change it.',
      }),
      lastUpdated: Type.Optional({
        ...Timestamp,
        description: 'If it differs from the time of the stored user, PUT ignores `status` and `twoFactorAuth`.',
      }),
      client: Type.Optional(ObjectReference),
      userGroups: Type.Optional(Type.Array(ObjectReference, { uniqueItems: true, maxItems: 1000 })),
    },
    { ...recordFields, ...authorFields, ...derivedFields, existingAuths: RoleList, invitationLink: InvitationLink },
  ),
)
export type UserBody = TypeOf<typeof UserBody>

/**
 * The status of a user. It is INVITATION until they accept the invitation, and again if they lose all sign-in methods.
 */
export const UserStatusBody = defineContract(
  'UserStatusBody',
  Type.Object({ status: Type.Enum(['ACTIVE', 'INACTIVE']) }, { additionalProperties: false }),
)
export type UserStatusBody = TypeOf<typeof UserStatusBody>

export const UserGroupSummary = defineContract(
  'UserGroupSummary',
  Type.Object({ id: Uid, client: Uid, name: SingleLineText, code: SingleLineText }, { additionalProperties: false }),
)
export type UserGroupSummary = TypeOf<typeof UserGroupSummary>

export const User = defineContract(
  'User',
  Type.Object(
    {
      ...recordFields,
      ...authorFields,
      ...userFields,
      auths: RoleList,
      /** The roles before an update. Only the response to an update contains them. */
      existingAuths: Type.Optional(RoleList),
      client: Client,
      userGroups: Type.Array(UserGroup, { maxItems: 1000 }),
      ...changedElsewhere,
      ...derivedFields,
    },
    noUnknownFields,
  ),
)
export type User = TypeOf<typeof User>

const analyticsPlatform = Type.Optional(Type.Boolean({ description: 'Returns only users with this value.' }))

export const UserSearchRequest = defineContract(
  'UserSearchRequest',
  Type.Object({ ...SearchRequest.properties, analyticsPlatform }, noUnknownFields),
)
export type UserSearchRequest = TypeOf<typeof UserSearchRequest>

export const UserListQuery = defineContract(
  'UserListQuery',
  Type.Object({ ...ListQuery.properties, analyticsPlatform }, noUnknownFields),
)
export type UserListQuery = TypeOf<typeof UserListQuery>

/**
 * An invited user. The response contains the invitation link if no mail server is configured and the caller signed in
 * directly.
 */
export const InvitedUser = defineContract(
  'InvitedUser',
  Type.Object({ ...User.properties, invitationLink: Type.Optional(InvitationLink) }, noUnknownFields),
)
export type InvitedUser = TypeOf<typeof InvitedUser>
