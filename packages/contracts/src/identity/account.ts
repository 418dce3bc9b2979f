import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Timestamp, Uid } from '../field-types.ts'
import { Roles } from '../roles.ts'
import { GivenPassword } from './passwords.ts'
import { Code } from './sign-in.ts'

export const SecondFactor = contract(
  'SecondFactor',
  Type.Object(
    {
      enrolled: Type.Boolean(),
      since: Type.Optional(Timestamp),
      recoveryCodesLeft: Type.Integer({ minimum: 0, maximum: 100 }),
    },
    closed,
  ),
)
export type SecondFactor = TypeOf<typeof SecondFactor>

/** The user's current password. It prevents changes by another person at an unattended session. */
export const OwnPasswordBody = contract('OwnPasswordBody', Type.Object({ password: GivenPassword }, closed))
export type OwnPasswordBody = TypeOf<typeof OwnPasswordBody>

/** The user's current password or a code of their second factor. If the body contains both, only the password is checked. */
export const ProofBody = contract(
  'ProofBody',
  Type.Object({ password: Type.Optional(GivenPassword), code: Type.Optional(Code) }, { ...closed, minProperties: 1 }),
)
export type ProofBody = TypeOf<typeof ProofBody>

/** The user's new email address, with the current password or a code of the second factor. */
export const ChangeEmailBody = contract(
  'ChangeEmailBody',
  Type.Object(
    {
      email: Type.String({ format: 'email', maxLength: 254 }),
      password: Type.Optional(GivenPassword),
      code: Type.Optional(Code),
    },
    { ...closed, minProperties: 2 },
  ),
)
export type ChangeEmailBody = TypeOf<typeof ChangeEmailBody>

export const CodeBody = contract('CodeBody', Type.Object({ code: Code }, closed))
export type CodeBody = TypeOf<typeof CodeBody>

/** The setup data for an authenticator app, as an image, a link and text. Only this response contains it. */
export const SecondFactorEnrolment = contract(
  'SecondFactorEnrolment',
  Type.Object(
    {
      /** `otpauth://totp/…` */
      uri: Type.String({ maxLength: 2000 }),
      /** The shared secret in Base32, for manual entry. */
      secret: Type.String({ maxLength: 100 }),
      /** The URI as a QR code in an SVG document. */
      qrCode: Type.String({ maxLength: 100_000 }),
    },
    closed,
  ),
)
export type SecondFactorEnrolment = TypeOf<typeof SecondFactorEnrolment>

/** Recovery codes. Each one can be used once instead of an authenticator's code. Only this response contains them. */
export const RecoveryCodes = contract(
  'RecoveryCodes',
  Type.Object({ recoveryCodes: Type.Array(Type.String({ maxLength: 40 }), { maxItems: 10 }) }, closed),
)
export type RecoveryCodes = TypeOf<typeof RecoveryCodes>

export const ApiTokenBody = contract(
  'ApiTokenBody',
  Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: 100, pattern: '^\\P{Cc}*$', examples: ['Nightly export'] }),
      /** Roles of the user that the token receives. A token with an empty list can only call operations that require no role. */
      roles: Roles,
      /** The expiry of the token, at most 365 days from now. */
      expires: Timestamp,
      /** The user's current password or a code of their second factor; required if the user has one of them. */
      password: Type.Optional(GivenPassword),
      code: Type.Optional(Code),
    },
    closed,
  ),
)
export type ApiTokenBody = TypeOf<typeof ApiTokenBody>

const apiToken = {
  id: Uid,
  name: Line,
  roles: Roles,
  created: Timestamp,
  expires: Timestamp,
  /** The time of the last use, rounded to the minute. */
  lastUsed: Type.Optional(Timestamp),
  /** False if the token has expired, or if the user has changed their password since. */
  usable: Type.Boolean(),
  /**
   * The effective roles: the `roles` that the user still holds and that the client has not switched off. Empty if the
   * token is not usable.
   */
  effectiveRoles: Roles,
}

export const ApiToken = contract('ApiToken', Type.Object(apiToken, closed))
export type ApiToken = TypeOf<typeof ApiToken>

export const NewApiToken = contract(
  'NewApiToken',
  Type.Object(
    {
      ...apiToken,
      /** The token, to be sent as `Authorization: Bearer …`. Only this response contains it. */
      token: Type.String({ maxLength: 100 }),
    },
    closed,
  ),
)
export type NewApiToken = TypeOf<typeof NewApiToken>

/** An open session of a user. */
export const OpenSession = contract(
  'OpenSession',
  Type.Object(
    {
      id: Uid,
      created: Timestamp,
      lastUsed: Timestamp,
      expires: Timestamp,
      address: Type.String({ maxLength: 100 }),
      userAgent: Type.String({ maxLength: 500 }),
      /** Whether this request belongs to the session. */
      current: Type.Boolean(),
      /** The names of the applications that the user signed in to. */
      applications: Type.Array(Line, { maxItems: 100 }),
    },
    closed,
  ),
)
export type OpenSession = TypeOf<typeof OpenSession>
