import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'

/** The one-time token of an emailed link: the value of `?token=` in its URL. */
const LinkToken = Type.String({ minLength: 20, maxLength: 200 })

/** Minimum and maximum number of characters of a password. */
export const passwordLength = { least: 12, most: 128 }

export const NewPassword = Type.String({ minLength: passwordLength.least, maxLength: passwordLength.most })

/** An existing password. Its length is not checked again. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: passwordLength.most })

export const AcceptInvitationBody = contract(
  'AcceptInvitationBody',
  Type.Object(
    {
      token: LinkToken,
      /** The new password. Users with single sign-on omit it. */
      password: Type.Optional(NewPassword),
    },
    closed,
  ),
)
export type AcceptInvitationBody = TypeOf<typeof AcceptInvitationBody>

export const ForgotPasswordBody = contract(
  'ForgotPasswordBody',
  Type.Object(
    { username: Type.String({ minLength: 1, maxLength: 254, description: 'The username or the email address.' }) },
    closed,
  ),
)
export type ForgotPasswordBody = TypeOf<typeof ForgotPasswordBody>

export const ResetPasswordBody = contract(
  'ResetPasswordBody',
  Type.Object({ token: LinkToken, password: NewPassword }, closed),
)
export type ResetPasswordBody = TypeOf<typeof ResetPasswordBody>

export const ChangePasswordBody = contract(
  'ChangePasswordBody',
  Type.Object({ currentPassword: GivenPassword, newPassword: NewPassword }, closed),
)
export type ChangePasswordBody = TypeOf<typeof ChangePasswordBody>
