import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import {
  ApiToken,
  ApiTokenBody,
  ChangeEmailBody,
  CodeBody,
  NewApiToken,
  OpenSession,
  OwnPasswordBody,
  ProofBody,
  RecoveryCodes,
  SecondFactor,
  SecondFactorEnrolment,
} from '../account.ts'
import { ChangePasswordBody } from '../passwords.ts'

/** Operations of users on their own sign-in methods. */
export const account = {
  changePassword: signature({
    id: 'account.changePassword',
    summary: 'Change your own password',
    description: 'Ends your other sessions, and tells you by mail.',
    method: 'put',
    path: '/users/me/password',
    guard: 'in-person',
    body: ChangePasswordBody,
  }),

  changeEmail: signature({
    id: 'account.changeEmail',
    summary: 'Change your own e-mail address',
    description:
      'Tells the old address. For a day nobody can have a new password mailed to the new one: sign in with the one you have.',
    method: 'put',
    path: '/users/me/email',
    guard: 'in-person',
    body: ChangeEmailBody,
  }),

  readSecondFactor: signature({
    id: 'account.readSecondFactor',
    summary: 'Whether you have a second factor, and how many recovery codes are left',
    method: 'get',
    path: '/users/me/second-factor',
    guard: 'in-person',
    response: SecondFactor,
  }),
  enrolSecondFactor: signature({
    id: 'account.enrolSecondFactor',
    summary: 'Begin to set up a second factor',
    description: 'It is asked for from its confirmation on. Beginning again replaces what was not confirmed.',
    method: 'post',
    path: '/users/me/second-factor',
    guard: 'in-person',
    body: OwnPasswordBody,
    response: SecondFactorEnrolment,
  }),
  confirmSecondFactor: signature({
    id: 'account.confirmSecondFactor',
    summary: 'Confirm your second factor with its first code',
    description: 'Answers recovery codes, which are shown this once.',
    method: 'put',
    path: '/users/me/second-factor',
    guard: 'in-person',
    body: CodeBody,
    response: RecoveryCodes,
  }),
  removeSecondFactor: signature({
    id: 'account.removeSecondFactor',
    summary: 'Remove your second factor',
    method: 'delete',
    path: '/users/me/second-factor',
    guard: 'in-person',
    body: ProofBody,
  }),
  renewRecoveryCodes: signature({
    id: 'account.renewRecoveryCodes',
    summary: 'Replace your recovery codes',
    method: 'post',
    path: '/users/me/second-factor/recovery-codes',
    guard: 'in-person',
    body: ProofBody,
    response: RecoveryCodes,
  }),

  listApiTokens: signature({
    id: 'account.listApiTokens',
    summary: 'List your API tokens',
    method: 'get',
    path: '/users/me/api-tokens',
    guard: 'in-person',
    response: listOf(ApiToken),
  }),
  createApiToken: signature({
    id: 'account.createApiToken',
    summary: 'Make an API token',
    description:
      'It is shown this once, and ends with your password. Takes your password or a code of your second factor; of whoever signs in through their organisation and has neither, a sign-in less than 15 minutes ago.',
    method: 'post',
    path: '/users/me/api-tokens',
    guard: 'in-person',
    status: 201,
    body: ApiTokenBody,
    response: NewApiToken,
  }),
  deleteApiToken: signature({
    id: 'account.deleteApiToken',
    summary: 'Delete one of your API tokens',
    method: 'delete',
    path: '/users/me/api-tokens/:uid',
    guard: 'in-person',
  }),

  listSessions: signature({
    id: 'account.listSessions',
    summary: 'List your open sessions',
    method: 'get',
    path: '/users/me/sessions',
    guard: 'in-person',
    response: listOf(OpenSession),
  }),
  endSession: signature({
    id: 'account.endSession',
    summary: 'End one of your sessions',
    method: 'delete',
    path: '/users/me/sessions/:uid',
    guard: 'in-person',
  }),
  endOtherSessions: signature({
    id: 'account.endOtherSessions',
    summary: 'End all your sessions but this one',
    method: 'delete',
    path: '/users/me/sessions',
    guard: 'in-person',
  }),
}
