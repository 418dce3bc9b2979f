import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'

/** The one-time token of an emailed link: the value of `?token=` in its URL. */
const LinkToken = Type.String({ minLength: 20, maxLength: 200 })

/** The minimum and maximum number of characters of a password. */
export const passwordLength = { min: 12, max: 128 }

export const NewPassword = Type.String({ minLength: passwordLength.min, maxLength: passwordLength.max })

/** An existing password. Its minimum length is not checked again. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: passwordLength.max })

export const AcceptInvitationBody = defineContract(
  'AcceptInvitationBody',
  Type.Object(
    {
      token: LinkToken,
      /** The new password. Users with single sign-on leave it out. */
      password: Type.Optional(NewPassword),
    },
    noUnknownFields,
  ),
)
export type AcceptInvitationBody = TypeOf<typeof AcceptInvitationBody>

export const ForgotPasswordBody = defineContract(
  'ForgotPasswordBody',
  Type.Object(
    { username: Type.String({ minLength: 1, maxLength: 254, description: 'The username or the email address.' }) },
    noUnknownFields,
  ),
)
export type ForgotPasswordBody = TypeOf<typeof ForgotPasswordBody>

export const ResetPasswordBody = defineContract(
  'ResetPasswordBody',
  Type.Object({ token: LinkToken, password: NewPassword }, noUnknownFields),
)
export type ResetPasswordBody = TypeOf<typeof ResetPasswordBody>

export const ChangePasswordBody = defineContract(
  'ChangePasswordBody',
  Type.Object({ currentPassword: GivenPassword, newPassword: NewPassword }, noUnknownFields),
)
export type ChangePasswordBody = TypeOf<typeof ChangePasswordBody>
