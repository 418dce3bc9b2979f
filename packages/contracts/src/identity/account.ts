import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { SingleLineText, Timestamp, Uid } from '../field-types.ts'
import { RoleList } from '../roles.ts'
import { GivenPassword } from './passwords.ts'
import { SecondFactorCode } from './sign-in.ts'

export const SecondFactor = defineContract(
  'SecondFactor',
  Type.Object(
    {
      enrolled: Type.Boolean(),
      since: Type.Optional(Timestamp),
      recoveryCodesLeft: Type.Integer({ minimum: 0, maximum: 100 }),
    },
    noUnknownFields,
  ),
)
export type SecondFactor = TypeOf<typeof SecondFactor>

/** The user's current password. It prevents changes by another person in an unattended session. */
export const OwnPasswordBody = defineContract(
  'OwnPasswordBody',
  Type.Object({ password: GivenPassword }, noUnknownFields),
)
export type OwnPasswordBody = TypeOf<typeof OwnPasswordBody>

/**
 * The user's current password or a code of their second factor. If the body contains both, only the password is
 * checked.
 */
export const ProofBody = defineContract(
  'ProofBody',
  Type.Object(
    { password: Type.Optional(GivenPassword), code: Type.Optional(SecondFactorCode) },
    { ...noUnknownFields, minProperties: 1 },
  ),
)
export type ProofBody = TypeOf<typeof ProofBody>

/** The user's new email address, with the current password or a code of the second factor. */
export const ChangeEmailBody = defineContract(
  'ChangeEmailBody',
  Type.Object(
    {
      email: Type.String({ format: 'email', maxLength: 254 }),
      password: Type.Optional(GivenPassword),
      code: Type.Optional(SecondFactorCode),
    },
    { ...noUnknownFields, minProperties: 2 },
  ),
)
export type ChangeEmailBody = TypeOf<typeof ChangeEmailBody>

export const CodeBody = defineContract('CodeBody', Type.Object({ code: SecondFactorCode }, noUnknownFields))
export type CodeBody = TypeOf<typeof CodeBody>

/** The setup data for an authenticator app, as an image, a link and text. Only this response contains it. */
export const SecondFactorEnrolment = defineContract(
  'SecondFactorEnrolment',
  Type.Object(
    {
      /** The link `otpauth://totp/…`. */
      uri: Type.String({ maxLength: 2000 }),
      /** The shared secret in Base32, for manual entry. */
      secret: Type.String({ maxLength: 100 }),
      /** The URI as a QR code in an SVG document. */
      qrCode: Type.String({ maxLength: 100_000 }),
    },
    noUnknownFields,
  ),
)
export type SecondFactorEnrolment = TypeOf<typeof SecondFactorEnrolment>

/**
 * Recovery codes. Each can be used once instead of a code of the authenticator app. Only this response contains them.
 */
export const RecoveryCodes = defineContract(
  'RecoveryCodes',
  Type.Object({ recoveryCodes: Type.Array(Type.String({ maxLength: 40 }), { maxItems: 10 }) }, noUnknownFields),
)
export type RecoveryCodes = TypeOf<typeof RecoveryCodes>

export const ApiTokenBody = defineContract(
  'ApiTokenBody',
  Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: 100, pattern: '^\\P{Cc}*$', examples: ['Nightly export'] }),
      /**
       * Roles of the user that the token gets. A token with an empty list can only call operations that require no
       * role.
       */
      roles: RoleList,
      /** The expiry of the token, at most 365 days from now. */
      expires: Timestamp,
      /** The user's current password or a code of their second factor. Required if the user has one of them. */
      password: Type.Optional(GivenPassword),
      code: Type.Optional(SecondFactorCode),
    },
    noUnknownFields,
  ),
)
export type ApiTokenBody = TypeOf<typeof ApiTokenBody>

const apiToken = {
  id: Uid,
  name: SingleLineText,
  roles: RoleList,
  created: Timestamp,
  expires: Timestamp,
  /** The time of the last use, rounded to the minute. */
  lastUsed: Type.Optional(Timestamp),
  /** False if the token has expired, or if the user has changed their password since. */
  usable: Type.Boolean(),
  /**
   * The effective roles: those of `roles` that the user still holds and that the client (organisation) has not switched
   * off. Empty if the token is not usable.
   */
  effectiveRoles: RoleList,
}

export const ApiToken = defineContract('ApiToken', Type.Object(apiToken, noUnknownFields))
export type ApiToken = TypeOf<typeof ApiToken>

export const NewApiToken = defineContract(
  'NewApiToken',
  Type.Object(
    {
      ...apiToken,
      /** The token, to be sent as `Authorization: Bearer …`. Only this response contains it. */
      token: Type.String({ maxLength: 100 }),
    },
    noUnknownFields,
  ),
)
export type NewApiToken = TypeOf<typeof NewApiToken>

/** An open session of a user. */
export const OpenSession = defineContract(
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
      /** The names of the applications to which the user signed in. */
      applications: Type.Array(SingleLineText, { maxItems: 100 }),
    },
    noUnknownFields,
  ),
)
export type OpenSession = TypeOf<typeof OpenSession>
