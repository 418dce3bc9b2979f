import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'

/** What stands behind `?token=` in a mailed link. */
const LinkToken = Type.String({ minLength: 20, maxLength: 200 })
const NewPassword = Type.String({ minLength: 12, maxLength: 128 })

export const AcceptInvitationBody = contract(
  'AcceptInvitationBody',
  Type.Object(
    {
      token: LinkToken,
      /** 12 to 128 characters; left out by users with single sign-on. */
      password: Type.Optional(NewPassword),
    },
    closed,
  ),
)
export type AcceptInvitationBody = TypeOf<typeof AcceptInvitationBody>

export const ForgotPasswordBody = contract(
  'ForgotPasswordBody',
  Type.Object(
    { username: Type.String({ minLength: 1, maxLength: 254, description: 'The username, or the mail address.' }) },
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
  Type.Object({ currentPassword: Type.String({ minLength: 1, maxLength: 128 }), newPassword: NewPassword }, closed),
)
export type ChangePasswordBody = TypeOf<typeof ChangePasswordBody>
