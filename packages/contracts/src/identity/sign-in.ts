import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Timestamp } from '../named.ts'
import { GivenPassword } from './passwords.ts'

const RefreshToken = Type.String({ minLength: 20, maxLength: 200 })

export const LoginBody = contract(
  'LoginBody',
  Type.Object(
    {
      username: Type.String({ minLength: 1, maxLength: 100 }),
      password: GivenPassword,
    },
    closed,
  ),
)
export type LoginBody = TypeOf<typeof LoginBody>

export const RefreshBody = contract('RefreshBody', Type.Object({ refreshToken: RefreshToken }, closed))
export type RefreshBody = TypeOf<typeof RefreshBody>

/** An access token, to be sent as `Authorization: Bearer …`, and a single-use token that can be exchanged for the next one. */
export const Tokens = contract(
  'Tokens',
  Type.Object(
    {
      accessToken: Type.String({ maxLength: 10_000 }),
      tokenType: Type.Enum(['Bearer']),
      /** Seconds until the access token expires. */
      expiresIn: Type.Integer({ minimum: 1, maximum: 900 }),
      refreshToken: RefreshToken,
      refreshTokenExpires: Timestamp,
    },
    closed,
  ),
)
export type Tokens = TypeOf<typeof Tokens>

const secondFactorMethods = ['TOTP', 'RECOVERY_CODE'] as const
export type SecondFactorMethod = (typeof secondFactorMethods)[number]

const Ticket = Type.String({ minLength: 20, maxLength: 100 })

/** Six digits of an authenticator, or a recovery code; spaces and dashes are ignored. */
export const Code = Type.String({ minLength: 6, maxLength: 40 })

/** The password was correct, and a second factor is required: send the ticket and the code to `auth.loginWithCode`. */
export const SecondFactorDemand = contract(
  'SecondFactorDemand',
  Type.Object(
    {
      secondFactor: Type.Object(
        {
          /** Valid for one sign-in, for five minutes. */
          ticket: Ticket,
          methods: Type.Array(Type.Enum([...secondFactorMethods]), { maxItems: secondFactorMethods.length }),
        },
        closed,
      ),
    },
    closed,
  ),
)
export type SecondFactorDemand = TypeOf<typeof SecondFactorDemand>

/** Tokens, or a demand for the second factor if the user has one. */
export const LoginAnswer = contract('LoginAnswer', Type.Union([Tokens, SecondFactorDemand]))
export type LoginAnswer = TypeOf<typeof LoginAnswer>

export const LoginCodeBody = contract('LoginCodeBody', Type.Object({ ticket: Ticket, code: Code }, closed))
export type LoginCodeBody = TypeOf<typeof LoginCodeBody>

export const accessTokenAudience = 'sluice'

/** The `client_id` of tokens from the service's own sign-in: no scope restricts the user's roles. */
export const firstParty = 'first-party'

/** The claims of an access token (RFC 9068) beyond iss, aud, exp, iat and jti. */
export interface AccessTokenClaims {
  /** The user's uid; for an application that acts for itself, its ssoClientId. */
  sub: string
  /** The client that the token was issued to: the first-party sign-in or a registered application. */
  client_id: string
  /** The uid of the client (organisation) that the principal acts for. */
  tenant: string
  /** The session; absent for an application that acts for itself. */
  sid?: string
  /** Space-separated roles and other scopes: an application's token grants no more than these. */
  scope?: string
}
