import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { Timestamp } from '../field-types.ts'
import { GivenPassword } from './passwords.ts'

const RefreshToken = Type.String({ minLength: 20, maxLength: 200 })

export const LoginBody = defineContract(
  'LoginBody',
  Type.Object(
    {
      username: Type.String({ minLength: 1, maxLength: 100 }),
      password: GivenPassword,
    },
    noUnknownFields,
  ),
)
export type LoginBody = TypeOf<typeof LoginBody>

export const RefreshBody = defineContract('RefreshBody', Type.Object({ refreshToken: RefreshToken }, noUnknownFields))
export type RefreshBody = TypeOf<typeof RefreshBody>

/**
 * An access token, to be sent as `Authorization: Bearer …`, and a refresh token, which can be exchanged once for new
 * tokens.
 */
export const TokenPair = defineContract(
  'Tokens',
  Type.Object(
    {
      accessToken: Type.String({ maxLength: 10_000 }),
      tokenType: Type.Enum(['Bearer']),
      /** The number of seconds until the access token expires. */
      expiresIn: Type.Integer({ minimum: 1, maximum: 900 }),
      refreshToken: RefreshToken,
      refreshTokenExpires: Timestamp,
    },
    noUnknownFields,
  ),
)
export type TokenPair = TypeOf<typeof TokenPair>

const secondFactorMethods = ['TOTP', 'RECOVERY_CODE'] as const
export type SecondFactorMethod = (typeof secondFactorMethods)[number]

const LoginTicket = Type.String({ minLength: 20, maxLength: 100 })

/** The six digits of an authenticator app, or a recovery code. Spaces and dashes are ignored. */
export const SecondFactorCode = Type.String({ minLength: 6, maxLength: 40 })

/**
 * The response if the password was correct and the user has a second factor. The caller then sends the ticket and a
 * code to `auth.loginWithCode`.
 */
export const SecondFactorDemand = defineContract(
  'SecondFactorDemand',
  Type.Object(
    {
      secondFactor: Type.Object(
        {
          /** Proves for five minutes that the password was correct. Valid for one sign-in. */
          ticket: LoginTicket,
          methods: Type.Array(Type.Enum([...secondFactorMethods]), { maxItems: secondFactorMethods.length }),
        },
        noUnknownFields,
      ),
    },
    noUnknownFields,
  ),
)
export type SecondFactorDemand = TypeOf<typeof SecondFactorDemand>

/** The response to a sign-in: tokens or, if the user has a second factor, the request for its code. */
export const LoginAnswer = defineContract('LoginAnswer', Type.Union([TokenPair, SecondFactorDemand]))
export type LoginAnswer = TypeOf<typeof LoginAnswer>

export const LoginCodeBody = defineContract(
  'LoginCodeBody',
  Type.Object({ ticket: LoginTicket, code: SecondFactorCode }, noUnknownFields),
)
export type LoginCodeBody = TypeOf<typeof LoginCodeBody>

export const accessTokenAudience = 'sluice'

/**
 * The `client_id` of tokens from the identity service's own sign-in. They have all roles of the user, because no scope
 * restricts them.
 */
export const firstParty = 'first-party'

/**
 * The `client_id` of the web console. Its tokens have no scope and all roles of the user, like those of `firstParty`.
 */
export const consoleApplication = 'console'
/** The `client_id` of the command line tool. Its scopes are roles, as for a registered application. */
export const cliApplication = 'cli'

/** The claims of an access token (RFC 9068), except iss, aud, exp, iat and jti. */
export interface AccessTokenClaims {
  /** The user's uid, or the ssoClientId of an application that acts for itself. */
  sub: string
  /** The OAuth client to which the token was issued: the first-party sign-in or an application. */
  client_id: string
  /** The uid of the client (organisation) for which the principal acts. */
  tenant: string
  sid?: string
  /** The roles and other scopes that limit the token of an application, separated by spaces. */
  scope?: string
  /**
   * The SHA-256 (base64url) of the grant's id. A grant allows an application to act for a user; when the grant ends,
   * the token does too.
   */
  grant?: string
}
