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

/** One's own password, so that an unattended screen is not enough. */
export const OwnPasswordBody = contract('OwnPasswordBody', Type.Object({ password: GivenPassword }, closed))
export type OwnPasswordBody = TypeOf<typeof OwnPasswordBody>

/** One's own password or a code of one's second factor. Of both, the password counts. */
export const ProofBody = contract(
  'ProofBody',
  Type.Object({ password: Type.Optional(GivenPassword), code: Type.Optional(Code) }, { ...closed, minProperties: 1 }),
)
export type ProofBody = TypeOf<typeof ProofBody>

/** One's new mail address, with the same proof. */
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

/** Each signs in once in place of an authenticator's code. Shown this once. */
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
      /** Roles that the user holds. None: it can do only what needs no role. */
      roles: Roles,
      /** At most 365 days ahead. */
      expires: Timestamp,
      /** One's own password or a code of one's second factor, for whoever has either. */
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
  /** To the minute. */
  lastUsed: Type.Optional(Timestamp),
  /** False once it has expired, or its user's password was changed. */
  usable: Type.Boolean(),
  /** Of `roles`, what counts now: what the user still holds and their client has not switched off. None where not usable. */
  effectiveRoles: Roles,
}

export const ApiToken = contract('ApiToken', Type.Object(apiToken, closed))
export type ApiToken = TypeOf<typeof ApiToken>

export const NewApiToken = contract(
  'NewApiToken',
  Type.Object(
    {
      ...apiToken,
      /** Shown this once, to be sent as `Authorization: Bearer …`. */
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
      /** The one that asks. */
      current: Type.Boolean(),
      /** The names of the applications that were signed in to. */
      applications: Type.Array(Line, { maxItems: 100 }),
    },
    closed,
  ),
)
export type OpenSession = TypeOf<typeof OpenSession>
