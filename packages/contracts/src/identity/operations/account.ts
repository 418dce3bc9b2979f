import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
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

export const accountSignatures = {
  changePassword: defineSignature({
    id: 'account.changePassword',
    summary: 'Change your own password',
    description: 'Ends your other sessions and sends you a notice by email.',
    method: 'put',
    path: '/users/me/password',
    guard: 'in-person',
    body: ChangePasswordBody,
  }),

  changeEmail: defineSignature({
    id: 'account.changeEmail',
    summary: 'Change your own e-mail address',
    description:
      'Sends a notice to the old address. The service sends no password resets to the new address for one day.',
    method: 'put',
    path: '/users/me/email',
    guard: 'in-person',
    body: ChangeEmailBody,
  }),

  readSecondFactor: defineSignature({
    id: 'account.readSecondFactor',
    summary: 'Whether you have a second factor, and how many recovery codes are left',
    method: 'get',
    path: '/users/me/second-factor',
    guard: 'in-person',
    response: SecondFactor,
  }),
  enrolSecondFactor: defineSignature({
    id: 'account.enrolSecondFactor',
    summary: 'Start the set-up of a second factor',
    description:
      'Sign-ins require the second factor after you confirm it. Starting the set-up again replaces an unconfirmed second factor.',
    method: 'post',
    path: '/users/me/second-factor',
    guard: 'in-person',
    body: OwnPasswordBody,
    response: SecondFactorEnrolment,
  }),
  confirmSecondFactor: defineSignature({
    id: 'account.confirmSecondFactor',
    summary: 'Confirm your second factor with its first code',
    description: 'Returns recovery codes, which are shown only once.',
    method: 'put',
    path: '/users/me/second-factor',
    guard: 'in-person',
    body: CodeBody,
    response: RecoveryCodes,
  }),
  removeSecondFactor: defineSignature({
    id: 'account.removeSecondFactor',
    summary: 'Remove your second factor',
    method: 'delete',
    path: '/users/me/second-factor',
    guard: 'in-person',
    body: ProofBody,
  }),
  renewRecoveryCodes: defineSignature({
    id: 'account.renewRecoveryCodes',
    summary: 'Replace your recovery codes',
    method: 'post',
    path: '/users/me/second-factor/recovery-codes',
    guard: 'in-person',
    body: ProofBody,
    response: RecoveryCodes,
  }),

  listApiTokens: defineSignature({
    id: 'account.listApiTokens',
    summary: 'List your API tokens',
    method: 'get',
    path: '/users/me/api-tokens',
    guard: 'in-person',
    response: listOf(ApiToken),
  }),
  createApiToken: defineSignature({
    id: 'account.createApiToken',
    summary: 'Create an API token',
    description:
      'Only this response contains the token. It becomes invalid when your password changes. The body must contain your password or a code of your second factor. Users without both, who sign in through their organisation, must have signed in within the last 15 minutes.',
    method: 'post',
    path: '/users/me/api-tokens',
    guard: 'in-person',
    status: 201,
    body: ApiTokenBody,
    response: NewApiToken,
  }),
  deleteApiToken: defineSignature({
    id: 'account.deleteApiToken',
    summary: 'Delete one of your API tokens',
    method: 'delete',
    path: '/users/me/api-tokens/:uid',
    guard: 'in-person',
  }),

  listSessions: defineSignature({
    id: 'account.listSessions',
    summary: 'List your open sessions',
    method: 'get',
    path: '/users/me/sessions',
    guard: 'in-person',
    response: listOf(OpenSession),
  }),
  endSession: defineSignature({
    id: 'account.endSession',
    summary: 'End one of your sessions',
    method: 'delete',
    path: '/users/me/sessions/:uid',
    guard: 'in-person',
  }),
  endOtherSessions: defineSignature({
    id: 'account.endOtherSessions',
    summary: 'End all your sessions but this one',
    method: 'delete',
    path: '/users/me/sessions',
    guard: 'in-person',
  }),
}
