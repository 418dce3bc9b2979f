import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { Problem } from '@sluice/http-server'
import { OutgoingProblem, listCauses } from '@sluice/http-client'

/** Stable error codes for failures of a provider. */
export type ProviderFault =
  /** The rules for outgoing requests forbid the provider's address. */
  | 'SSO_ADDRESS_REFUSED'
  | 'SSO_UNREACHABLE'
  /** The provider's response is malformed or not understood. */
  | 'SSO_ANSWER_INVALID'
  /** The issuer in the metadata or ID token differs from the config. */
  | 'SSO_ISSUER_MISMATCH'
  /** The provider rejects the client id or the client secret. */
  | 'SSO_CLIENT_REFUSED'
  /** The provider lacks a feature that Sluice requires. */
  | 'SSO_NOT_SUPPORTED'
  | 'SSO_TOKEN_INVALID'
  /** The provider or the user declined the sign-in. */
  | 'SSO_DENIED'

/**
 * An error of a provider: it is unusable or sent a response that cannot be trusted. The message is a sentence for
 * users.
 */
export class ProviderProblem extends Error {
  override readonly name = 'ProviderProblem'
  readonly fault: ProviderFault

  constructor(fault: ProviderFault, message: string, cause?: unknown) {
    super(message, { cause })
    this.fault = fault
  }
}

/** Converts an error of a provider request to a `ProviderProblem`; undefined for an internal error. */
export function toProviderProblem(error: unknown): ProviderProblem | undefined {
  if (error instanceof ProviderProblem) return error
  const outgoing = listCauses(error).find((cause) => cause instanceof OutgoingProblem)
  if (outgoing)
    return new ProviderProblem(outgoing.refused ? 'SSO_ADDRESS_REFUSED' : 'SSO_UNREACHABLE', outgoing.message)
  if (error instanceof AuthorizationResponseError) return toDenialProblem(error.error)
  if (error instanceof ResponseBodyError) return toTokenEndpointProblem(error)
  if (error instanceof WWWAuthenticateChallengeError)
    return new ProviderProblem(
      'SSO_CLIENT_REFUSED',
      `The provider answered a token request with status ${error.status}.`,
    )
  if (error instanceof ClientError) return toClientErrorProblem(error)
  return undefined
}

const denialMessages: Record<string, string> = {
  access_denied: 'The sign-in was refused or cancelled at the provider. Start again.',
  login_required: 'The provider requires a new sign-in. Start again.',
  interaction_required: 'The provider requires a new sign-in. Start again.',
  temporarily_unavailable: 'The provider is temporarily unavailable. Try again in a moment.',
  server_error: 'The provider had an internal error. Try again in a moment.',
  unauthorized_client:
    'The provider does not allow Sluice to request sign-ins. Complete the registration of Sluice there.',
  invalid_scope: 'The provider does not support one of the scopes openid, email and profile. Enable them there.',
}

/**
 * Returns the problem for an OAuth error code from the provider. Unknown codes get a general message, because the
 * provider may send any text.
 */
function toDenialProblem(error: string): ProviderProblem {
  const sentence = Object.hasOwn(denialMessages, error)
    ? denialMessages[error]!
    : 'The provider did not sign the user in. Start again.'
  return new ProviderProblem('SSO_DENIED', sentence)
}

function toTokenEndpointProblem({ error, status }: ResponseBodyError): ProviderProblem {
  if (error === 'invalid_client' || status === 401)
    return new ProviderProblem(
      'SSO_CLIENT_REFUSED',
      'The provider rejected the clientId or the clientSecret. Enter the values that are registered there.',
    )
  if (error === 'unauthorized_client')
    return new ProviderProblem(
      'SSO_CLIENT_REFUSED',
      'The provider does not allow Sluice the authorization code grant. Enable it there.',
    )
  if (error === 'invalid_grant')
    return new ProviderProblem('SSO_DENIED', 'The provider rejected the authorization code. Start again.')
  return new ProviderProblem('SSO_ANSWER_INVALID', `The provider rejected the token request with status ${status}.`)
}

const claimSentences: Record<string, string> = {
  aud: 'The ID token is for another application. Check the clientId.',
  azp: 'The ID token was issued to another application. Check the clientId.',
  nonce: 'The ID token does not belong to this sign-in, because its nonce is missing or wrong. Start again.',
  exp: 'The ID token has expired. Check the clocks of Sluice and of the provider.',
  nbf: 'The ID token is not valid yet. Correct the clock of Sluice or of the provider.',
  iat: 'The ID token was issued in the future. Correct the clock of Sluice or of the provider.',
  sub: 'The ID token and the user information are about different people. Start again, and check the provider.',
}

/** Returns the problem for a response that the OpenID library rejected. */
function toClientErrorProblem(error: ClientError): ProviderProblem {
  // The library wraps the error that names the reason and, for an invalid ID token, the claim.
  const rootError = listCauses(error).findLast((cause) => cause instanceof Error) as Error & {
    cause?: { claim?: string; parameters?: unknown }
  }
  const claim = rootError.cause?.claim ?? ''
  const { message } = rootError
  const problem = (fault: ProviderFault, sentence: string) => new ProviderProblem(fault, sentence, error)
  switch (error.code) {
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return claim === 'iss'
        ? problem('SSO_ISSUER_MISMATCH', 'The ID token was issued by another provider. Check the clientDomain.')
        : problem('SSO_TOKEN_INVALID', claimSentences[claim] ?? `The ID token is not valid: ${message}.`)
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      return problem('SSO_ISSUER_MISMATCH', 'The issuer does not match the configuration. Check the clientDomain.')
    case 'OAUTH_KEY_SELECTION_FAILED':
      return problem(
        'SSO_TOKEN_INVALID',
        'The ID token is signed with a key that the provider does not publish. Publish the key there.',
      )
    case 'OAUTH_TIMEOUT':
    case 'OAUTH_ABORT':
      return problem('SSO_UNREACHABLE', 'The provider did not answer in time. Try again later.')
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
      return problem('SSO_ANSWER_INVALID', `The provider answered with status ${readStatus(error)}.`)
    case 'OAUTH_RESPONSE_IS_NOT_JSON':
    case 'OAUTH_PARSE_ERROR':
      return problem('SSO_ANSWER_INVALID', 'The provider’s answer is not JSON. Check its address.')
  }
  if (/issuer|"iss"/.test(message))
    return problem('SSO_ISSUER_MISMATCH', `The answer is from another provider: ${message}.`)
  if (/"alg"|signature/i.test(message))
    return problem(
      'SSO_TOKEN_INVALID',
      'The signature of the ID token is invalid, or Sluice does not accept its algorithm.',
    )
  return problem('SSO_ANSWER_INVALID', `The provider’s answer is not valid: ${message}.`)
}

const readStatus = ({ cause }: ClientError): string => {
  const { status } = (cause ?? {}) as { status?: number }
  return status === undefined ? 'other than 200' : String(status)
}

/**
 * Returns one problem for an organisation that is unknown, is disabled or does not use single sign-on, so that the
 * response does not reveal which.
 */
export const noSingleSignOnProblem = () =>
  new Problem(404, 'not-found', 'Not found.', { detail: 'This organisation has no single sign-on.' })

export const unknownSignInProblem = () =>
  new Problem(400, 'sso-unknown', 'The sign-in is unknown or has expired.', {
    detail:
      'The sign-in was already completed, took longer than ten minutes, or began in another browser. Start again.',
  })

/** Returns the problem for a person who has no active user. It does not state the reason, which is in the audit log. */
export const notAdmittedProblem = () =>
  new Problem(401, 'sign-in-failed', 'Sign-in failed.', {
    detail: 'No active user belongs to your account at the provider. Ask your administrator.',
    headers: { 'WWW-Authenticate': 'Bearer' },
  })

/**
 * Returns the problem response for the person who signs in: 401 if the provider declined, 422 for an address that is
 * not allowed, otherwise 502.
 */
export function providerFailedProblem(problem: ProviderProblem): Problem {
  const { fault, message: detail } = problem
  if (fault === 'SSO_DENIED')
    return new Problem(401, 'sso-denied', 'The provider declined the sign-in.', {
      detail,
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  if (fault === 'SSO_ADDRESS_REFUSED')
    return new Problem(422, 'sso-address-refused', 'The address of the provider is not allowed.', { detail })
  return new Problem(502, 'sso-provider-failed', 'The provider failed.', {
    detail,
    cause: problem.cause ?? problem,
  })
}
