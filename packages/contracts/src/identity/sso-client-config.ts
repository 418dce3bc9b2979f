import { Type } from 'typebox'
import { type TypeOf, closed, contract } from '../contract.ts'
import { Line, Reference, Timestamp, Uid, bodyOf, lineOf } from '../named.ts'
import { type Role, roles } from '../roles.ts'
import { Client } from './client.ts'

/** OpenID Connect scopes of an application, besides roles. */
export const openIdScopes = ['openid', 'profile', 'email', 'groups', 'organization', 'offline_access'] as const

/** All scopes of applications. The super admin role is excluded. */
export const applicationScopes = [
  ...openIdScopes,
  ...roles.filter((role): role is Exclude<Role, 'ROLE_SUPER_ADMIN'> => role !== 'ROLE_SUPER_ADMIN'),
]
export type ApplicationScope = (typeof applicationScopes)[number]

/** The scopes that are roles: what an application may do at our own services. */
export const roleScopes = (scopes: readonly string[]): Role[] => roles.filter((role) => scopes.includes(role))

/** The scopes that are about the user. */
export const userScopes = (scopes: readonly string[]): string[] =>
  openIdScopes.filter((scope) => scopes.includes(scope))

export const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials'] as const
export type GrantType = (typeof grantTypes)[number]

const AuthorizationGrantType = Type.Object(
  { value: Type.Enum([...grantTypes]) },
  { ...closed, title: 'AuthorizationGrantType' },
)

/** Characters that the service takes of an application's id and name: an index and a page have to hold them. */
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

/** Without `clientSecret`, or with null, the stored one stays. An empty text clears it: the application is a public one then. */
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

/** An application that signs users of a client in here, or acts for itself. */
export const SsoClientConfig = contract(
  'SsoClientConfig',
  Type.Object(
    {
      id: Uid,
      created: Timestamp,
      lastUpdated: Timestamp,
      client: Client,
      ...fields,
      /** It has a secret to prove itself with. */
      confidential: Type.Boolean(),
    },
    closed,
  ),
)
export type SsoClientConfig = TypeOf<typeof SsoClientConfig>

/** An application, and what its user said yes to. */
export const AllowedApplication = contract(
  'AllowedApplication',
  Type.Object(
    {
      /** Of the SSO client config. */
      id: Uid,
      ssoClientId: Line,
      clientName: Line,
      scopes: Type.Array(Type.Enum([...applicationScopes]), { uniqueItems: true, maxItems: applicationScopes.length }),
      /** When it was first allowed anything, and when last more. */
      allowed: Timestamp,
      lastUpdated: Timestamp,
      /** When it last signed in or refreshed, as far as a session that is kept knows of it. */
      lastUsed: Type.Optional(Timestamp),
    },
    closed,
  ),
)
export type AllowedApplication = TypeOf<typeof AllowedApplication>
