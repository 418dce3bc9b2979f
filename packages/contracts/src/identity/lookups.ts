import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Timestamp, Uid } from '../named.ts'
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

/** A client that was deleted, as it was called then. */
export const DeletedClientSummary = contract(
  'DeletedClientSummary',
  Type.Object({ id: Uid, code: Line, name: Line, deleted: Timestamp }, closed),
)
export type DeletedClientSummary = TypeOf<typeof DeletedClientSummary>

export const credentialKinds = ['session', 'application', 'api-token'] as const

/**
 * What a bearer token stands for, once its form and signature are right. `id` is the user's uid, the application's
 * ssoClientId, or the API token's SHA-256 in base64url; `session` comes with the first kind only, and with it the ssoClientId
 * of the `application` that the token was issued to, if it was one.
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
 * What a service must know of whoever asks before it lets them in: a token issued before `tokenValidAfter`, of a user who
 * is not ACTIVE or of a disabled client is refused. `client` is the one that is acted for. `roles` are those that count:
 * what the client's switches turn off is not among them, nor, of a session that an application acts in, what that
 * application may not have or its user did not say yes to. An application's standing names the application.
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
      /** False once the session, the API token or the application was ended. */
      open: Type.Boolean(),
      roles: Roles,
      /** Held, but switched off in this client: they open nothing. Absent: none. */
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
