import { Type } from 'typebox'
import { type TypeOf, noUnknownFields, defineContract } from '../contract.ts'
import { SingleLineText, ObjectReference, Timestamp, Uid, bodyOf, lineOf } from '../field-types.ts'
import { type Role, allRoles } from '../roles.ts'
import { Client } from './client.ts'

/** OpenID Connect scopes that an application can have in addition to roles. */
export const openIdScopes = ['openid', 'profile', 'email', 'groups', 'organization', 'offline_access'] as const

/** All scopes that an application can have: the OpenID Connect scopes and every role except super admin. */
export const applicationScopes = [
  ...openIdScopes,
  ...allRoles.filter((role): role is Exclude<Role, 'ROLE_SUPER_ADMIN'> => role !== 'ROLE_SUPER_ADMIN'),
]

export type ApplicationScope = (typeof applicationScopes)[number]

/** Returns those scopes that are roles. They limit what an application can do in identity and pipeline. */
export const selectRoleScopes = (scopes: readonly string[]): Role[] => allRoles.filter((role) => scopes.includes(role))

/** Returns those scopes of OpenID Connect that give an application data about the user. */
export const selectUserScopes = (scopes: readonly string[]): string[] =>
  openIdScopes.filter((scope) => scopes.includes(scope))

export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'] as const
export type GrantType = (typeof grantTypes)[number]

const AuthorizationGrantType = Type.Object(
  { value: Type.Enum([...grantTypes]) },
  { ...noUnknownFields, title: 'AuthorizationGrantType' },
)

/** The maximum characters of an application's id and name, so that they fit into a database index and a page. */
export const maxApplicationTextLength = 255

const ApplicationName = lineOf({
  minLength: 2,
  maxLength: 2_147_483_647,
  examples: ['Reports'],
  description: `At most ${maxApplicationTextLength} characters; longer texts are rejected with 422.`,
})

const applicationFields = {
  ssoClientId: Type.String({
    minLength: 2,
    maxLength: 2_147_483_647,
    pattern: '^[ -~]*$',
    examples: ['reports'],
    description: `The client_id of OAuth, in printable ASCII. It must be unique across all clients and have at most ${maxApplicationTextLength} characters, else the request is rejected with 422.`,
  }),
  clientName: ApplicationName,
  redirectUris: Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), { uniqueItems: true, maxItems: 50 }),
  scopes: Type.Array(Type.Enum([...applicationScopes]), { uniqueItems: true, maxItems: applicationScopes.length }),
  grantTypes: Type.Array(AuthorizationGrantType, { uniqueItems: true, maxItems: grantTypes.length }),
}

/**
 * The body of an application. An absent or null `clientSecret` keeps the stored secret. An empty text deletes it, which
 * makes the application a public OAuth client.
 */
export const SsoClientConfigBody = defineContract(
  'SsoClientConfigBody',
  bodyOf(
    {
      ...applicationFields,
      client: Type.Optional(ObjectReference),
      clientSecret: Type.Optional(
        Type.Union(
          [
            Type.String({
              minLength: 22,
              maxLength: 255,
              pattern: '^[!-~]*$',
              examples: ['make-one-of-at-least-22-characters'],
            }),
            Type.Null(),
          ],
          { writeOnly: true },
        ),
      ),
    },
    { id: Uid, created: Timestamp, lastUpdated: Timestamp, confidential: Type.Boolean() },
  ),
)

export type SsoClientConfigBody = TypeOf<typeof SsoClientConfigBody>

/** An application that signs in users of a client (organisation), or acts for itself. */
export const SsoClientConfig = defineContract(
  'SsoClientConfig',
  Type.Object(
    {
      id: Uid,
      created: Timestamp,
      lastUpdated: Timestamp,
      client: Client,
      ...applicationFields,
      /** Whether the application has a client secret. */
      confidential: Type.Boolean(),
    },
    noUnknownFields,
  ),
)

export type SsoClientConfig = TypeOf<typeof SsoClientConfig>

/** An application and the scopes that its user allowed. */
export const AllowedApplication = defineContract(
  'AllowedApplication',
  Type.Object(
    {
      /** The id of the SSO client config. */
      id: Uid,
      ssoClientId: SingleLineText,
      clientName: SingleLineText,
      scopes: Type.Array(Type.Enum([...applicationScopes]), { uniqueItems: true, maxItems: applicationScopes.length }),
      /** The times at which the user first allowed scopes, and last allowed further scopes. */
      allowed: Timestamp,
      lastUpdated: Timestamp,
      /** The time of the application's last sign-in or token refresh. Absent if no stored session shows it. */
      lastUsed: Type.Optional(Timestamp),
    },
    noUnknownFields,
  ),
)

export type AllowedApplication = TypeOf<typeof AllowedApplication>
