import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { Line, Timestamp, Uid } from '../named.ts'
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

/** The user's own password, which protects an unattended session. */
export const OwnPasswordBody = contract('OwnPasswordBody', Type.Object({ password: GivenPassword }, closed))
export type OwnPasswordBody = TypeOf<typeof OwnPasswordBody>

/** The user's own password or a code of their second factor. If both are given, the password counts. */
export const ProofBody = contract(
  'ProofBody',
  Type.Object({ password: Type.Optional(GivenPassword), code: Type.Optional(Code) }, { ...closed, minProperties: 1 }),
)
export type ProofBody = TypeOf<typeof ProofBody>

/** The user's new email address, with the same proof. */
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

/** The setup data of an authenticator app as picture, link and text. It is shown only once. */
export const SecondFactorEnrolment = contract(
  'SecondFactorEnrolment',
  Type.Object(
    {
      /** `otpauth://totp/…` */
      uri: Type.String({ maxLength: 2000 }),
      /** Base32. */
      secret: Type.String({ maxLength: 100 }),
      /** The URI as a QR code: an SVG document. */
      qrCode: Type.String({ maxLength: 100_000 }),
    },
    closed,
  ),
)
export type SecondFactorEnrolment = TypeOf<typeof SecondFactorEnrolment>

/** Each code replaces an authenticator's code once. Shown only once. */
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
      /** Roles that the user holds. With an empty list, the token can only call operations that require no role. */
      roles: Roles,
      /** At most 365 days ahead. */
      expires: Timestamp,
      /** The user's own password or a code of their second factor; required if the user has either. */
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
  /** Rounded to the minute. */
  lastUsed: Type.Optional(Timestamp),
  /** False if it has expired, or if its user's password was changed. */
  usable: Type.Boolean(),
  /**
   * The effective part of `roles`: those that the user still holds and that their client has not switched off. Empty if the
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
      /** Shown only once. Send it as `Authorization: Bearer …`. */
      token: Type.String({ maxLength: 100 }),
    },
    closed,
  ),
)
export type NewApiToken = TypeOf<typeof NewApiToken>

/** A sign-in that has not ended. */
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
      /** Whether it is the session of this request. */
      current: Type.Boolean(),
      /** The names of the applications that the user signed in to. */
      applications: Type.Array(Line, { maxItems: 100 }),
    },
    closed,
  ),
)
export type OpenSession = TypeOf<typeof OpenSession>
