import { Type } from 'typebox'
import { type TypeOf, closed, contract } from '../contract.ts'
import { Line, Reference, Timestamp, Uid, bodyOf, lineOf } from '../named.ts'
import { type Role, roles } from '../roles.ts'
import { Client } from './client.ts'

/** OpenID Connect scopes of an application, in addition to roles. */
export const openIdScopes = ['openid', 'profile', 'email', 'groups', 'organization', 'offline_access'] as const

/** All scopes of applications. The super admin role is excluded. */
export const applicationScopes = [
  ...openIdScopes,
  ...roles.filter((role): role is Exclude<Role, 'ROLE_SUPER_ADMIN'> => role !== 'ROLE_SUPER_ADMIN'),
]
export type ApplicationScope = (typeof applicationScopes)[number]

/** Returns the scopes that are roles, which limit an application at these two services. */
export const roleScopes = (scopes: readonly string[]): Role[] => roles.filter((role) => scopes.includes(role))

/** Returns the scopes that concern the user. */
export const userScopes = (scopes: readonly string[]): string[] =>
  openIdScopes.filter((scope) => scopes.includes(scope))

export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'] as const
export type GrantType = (typeof grantTypes)[number]

const AuthorizationGrantType = Type.Object(
  { value: Type.Enum([...grantTypes]) },
  { ...closed, title: 'AuthorizationGrantType' },
)

/** Maximum characters of an application's id and name, because an index and a page must be able to hold them. */
export const longestApplicationText = 255

const Name = lineOf({
  minLength: 2,
  maxLength: 2_147_483_647,
  examples: ['Reports'],
  description: `At most ${longestApplicationText} characters are taken: more are refused with 422.`,
})

const fields = {
  ssoClientId: Type.String({
    minLength: 2,
    maxLength: 2_147_483_647,
    pattern: '^[ -~]*$',
    examples: ['reports'],
    description: `The client_id of OAuth. Printable ASCII, unlike any other, in every client. At most ${longestApplicationText} characters are taken: more are refused with 422.`,
  }),
  clientName: Name,
  redirectUris: Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), { uniqueItems: true, maxItems: 50 }),
  scopes: Type.Array(Type.Enum([...applicationScopes]), { uniqueItems: true, maxItems: applicationScopes.length }),
  grantTypes: Type.Array(AuthorizationGrantType, { uniqueItems: true, maxItems: grantTypes.length }),
}

/** An absent or null `clientSecret` keeps the stored one. An empty text deletes it: the application is then a public client. */
export const SsoClientConfigBody = contract(
  'SsoClientConfigBody',
  bodyOf(
    {
      ...fields,
      client: Type.Optional(Reference),
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

/** An application that signs in users of a client, or acts for itself. */
export const SsoClientConfig = contract(
  'SsoClientConfig',
  Type.Object(
    {
      id: Uid,
      created: Timestamp,
      lastUpdated: Timestamp,
      client: Client,
      ...fields,
      /** Whether the application has a client secret. */
      confidential: Type.Boolean(),
    },
    closed,
  ),
)
export type SsoClientConfig = TypeOf<typeof SsoClientConfig>

/** An application, and the scopes that its user allowed. */
export const AllowedApplication = contract(
  'AllowedApplication',
  Type.Object(
    {
      /** The id of the SSO client config. */
      id: Uid,
      ssoClientId: Line,
      clientName: Line,
      scopes: Type.Array(Type.Enum([...applicationScopes]), { uniqueItems: true, maxItems: applicationScopes.length }),
      /** When the user first allowed scopes, and when the user last allowed further ones. */
      allowed: Timestamp,
      lastUpdated: Timestamp,
      /** When the application last signed in or refreshed, as far as a stored session shows it. */
      lastUsed: Type.Optional(Timestamp),
    },
    closed,
  ),
)
export type AllowedApplication = TypeOf<typeof AllowedApplication>
