import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText, Timestamp, Uid } from '../field-types.ts'
import { RoleList } from '../roles.ts'
import { clientDomains, TimeZone } from './client.ts'
import { UserGroupSummary, userStatuses } from './user.ts'

export const ClientSummary = defineContract(
  'ClientSummary',
  Type.Object(
    {
      id: Uid,
      code: SingleLineText,
      name: SingleLineText,
      disabled: Type.Boolean(),
      domain: Type.Enum([...clientDomains]),
      pipelinesEnabled: Type.Boolean(),
      timeZone: TimeZone,
    },
    noUnknownFields,
  ),
)
export type ClientSummary = TypeOf<typeof ClientSummary>

/** A deleted client (organisation) and its name when it was deleted. */
export const DeletedClientSummary = defineContract(
  'DeletedClientSummary',
  Type.Object({ id: Uid, code: SingleLineText, name: SingleLineText, deleted: Timestamp }, noUnknownFields),
)
export type DeletedClientSummary = TypeOf<typeof DeletedClientSummary>

const credentialKinds = ['session', 'application', 'api-token'] as const

/**
 * Identifies the principal (user or application) of a bearer token. `id` is the user's uid, the application's
 * ssoClientId, or the API token's SHA-256 in base64url. Only a user's session has `session` and, if the token was
 * issued to an application, its ssoClientId in `application` and the claim `grant`.
 */
export const Credential = defineContract(
  'Credential',
  Type.Object(
    {
      kind: Type.Enum([...credentialKinds]),
      id: Type.String({ minLength: 1, maxLength: 255 }),
      session: Type.Optional(Uid),
      application: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
      grant: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    },
    noUnknownFields,
  ),
)
export type Credential = TypeOf<typeof Credential>

/**
 * The state of a principal (user or application) that a service needs for authorisation. The service rejects a token
 * that was issued before `tokenValidAfter`, and tokens of a user who is not ACTIVE or of a disabled client
 * (organisation). `client` is the organisation for which the principal acts. `roles` are the effective roles. They
 * exclude roles that the organisation has switched off and, in a session of an application, roles that the application
 * may not have or that the user did not allow. The state of an application contains the application's name.
 */
export const PrincipalState = defineContract(
  'Standing',
  Type.Object(
    {
      kind: Type.Enum([...credentialKinds]),
      id: Uid,
      username: SingleLineText,
      name: SingleLineText,
      status: Type.Enum([...userStatuses]),
      tokenValidAfter: Timestamp,
      /** False if the session was ended, or if the API token or the application was deleted. */
      open: Type.Boolean(),
      roles: RoleList,
      /**
       * Roles that the principal holds but that grant nothing, because the client (organisation) has switched them off.
       * Absent if all roles are effective.
       */
      dormantRoles: Type.Optional(RoleList),
      userGroups: Type.Array(Uid, { maxItems: 1000 }),
      client: ClientSummary,
    },
    noUnknownFields,
  ),
)
export type PrincipalState = TypeOf<typeof PrincipalState>

export const LookupBody = defineContract(
  'LookupBody',
  Type.Object({ ids: Type.Array(Uid, { minItems: 1, maxItems: 1000 }) }, noUnknownFields),
)
export type LookupBody = TypeOf<typeof LookupBody>

/** The usernames of users, ids of applications, and codes of user groups, of one client (organisation). */
export const PrincipalNames = defineContract(
  'PrincipalNames',
  Type.Object(
    {
      client: Uid,
      usernames: Type.Array(SingleLineText, { maxItems: 1000 }),
      userGroupCodes: Type.Array(SingleLineText, { maxItems: 1000 }),
    },
    noUnknownFields,
  ),
)
export type PrincipalNames = TypeOf<typeof PrincipalNames>

export const UserSummary = defineContract(
  'UserSummary',
  Type.Object(
    { id: Uid, client: Uid, username: SingleLineText, name: SingleLineText, status: Type.Enum([...userStatuses]) },
    noUnknownFields,
  ),
)
export type UserSummary = TypeOf<typeof UserSummary>

export const NamedPrincipals = defineContract(
  'NamedPrincipals',
  Type.Object(
    {
      users: Type.Array(UserSummary, { maxItems: 1000 }),
      userGroups: Type.Array(UserGroupSummary, { maxItems: 1000 }),
    },
    noUnknownFields,
  ),
)
export type NamedPrincipals = TypeOf<typeof NamedPrincipals>
