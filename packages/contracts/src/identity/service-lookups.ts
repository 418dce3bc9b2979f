import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Timestamp, Uid } from '../field-types.ts'
import { Roles } from '../roles.ts'
import { clientDomains, TimeZone } from './client.ts'
import { userStatuses } from './user.ts'

export const ClientSummary = contract(
  'ClientSummary',
  Type.Object(
    {
      id: Uid,
      code: Line,
      name: Line,
      disabled: Type.Boolean(),
      domain: Type.Enum([...clientDomains]),
      pipelinesEnabled: Type.Boolean(),
      timeZone: TimeZone,
    },
    closed,
  ),
)
export type ClientSummary = TypeOf<typeof ClientSummary>

/** A deleted client and its name at the deletion. */
export const DeletedClientSummary = contract(
  'DeletedClientSummary',
  Type.Object({ id: Uid, code: Line, name: Line, deleted: Timestamp }, closed),
)
export type DeletedClientSummary = TypeOf<typeof DeletedClientSummary>

const credentialKinds = ['session', 'application', 'api-token'] as const

/**
 * Identifies the principal of a bearer token with a valid form and signature. `id` is the user's uid, the application's
 * ssoClientId, or the API token's SHA-256 in base64url. Only a user's session has `session` and, if the token was issued to an
 * application, its ssoClientId in `application`.
 */
export const Credential = contract(
  'Credential',
  Type.Object(
    {
      kind: Type.Enum([...credentialKinds]),
      id: Type.String({ minLength: 1, maxLength: 255 }),
      session: Type.Optional(Uid),
      application: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    },
    closed,
  ),
)
export type Credential = TypeOf<typeof Credential>

/**
 * The state of a principal that a service needs for authorisation. The service rejects a token that was issued before
 * `tokenValidAfter`, and tokens of a user who is not ACTIVE or of a disabled client. `client` is the client that the
 * principal acts for. `roles` are the effective roles. They exclude roles that the client has switched off and, in a
 * session of an application, roles that the application may not have or that the user did not allow. The state of an
 * application contains the application's name.
 */
export const PrincipalState = contract(
  'Standing',
  Type.Object(
    {
      kind: Type.Enum([...credentialKinds]),
      id: Uid,
      username: Line,
      name: Line,
      status: Type.Enum([...userStatuses]),
      tokenValidAfter: Timestamp,
      /** False if the session was ended, or if the API token or the application was deleted. */
      open: Type.Boolean(),
      roles: Roles,
      /**
       * Roles that the principal holds but that grant nothing, because the client has switched them off. Absent if all
       * roles are effective.
       */
      dormantRoles: Type.Optional(Roles),
      userGroups: Type.Array(Uid, { maxItems: 1000 }),
      client: ClientSummary,
    },
    closed,
  ),
)
export type PrincipalState = TypeOf<typeof PrincipalState>

export const LookupBody = contract(
  'LookupBody',
  Type.Object({ ids: Type.Array(Uid, { minItems: 1, maxItems: 1000 }) }, closed),
)
export type LookupBody = TypeOf<typeof LookupBody>

export const UserSummary = contract(
  'UserSummary',
  Type.Object({ id: Uid, client: Uid, username: Line, name: Line, status: Type.Enum([...userStatuses]) }, closed),
)
export type UserSummary = TypeOf<typeof UserSummary>
