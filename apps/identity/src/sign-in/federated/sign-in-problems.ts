import { Problem } from '@sluice/http'
import type { ProviderProblem } from './provider-problem.ts'

/** The same for a client that is unknown, disabled, or signs in otherwise. */
export const noSingleSignOn = () =>
  new Problem(404, 'not-found', 'There is no such thing.', { detail: 'No such single sign-on.' })

export const unknownSignIn = () =>
  new Problem(400, 'sso-unknown', 'This sign-in is not known.', {
    detail: 'It was finished already, took longer than ten minutes, or began in another browser: start again.',
  })

/** Whatever keeps the person from being a user here; the audit says what. */
export const notAdmitted = () =>
  new Problem(401, 'sign-in-failed', 'You are not signed in.', {
    detail: 'Your provider knows you, but no active user here goes with that: ask your administrator.',
    headers: { 'WWW-Authenticate': 'Bearer' },
  })

/** What a provider did, to the person who is kept waiting by it. */
export function providerFailed(problem: ProviderProblem): Problem {
  const { fault, message: detail } = problem
  if (fault === 'SSO_DENIED')
    return new Problem(401, 'sso-denied', 'The provider did not sign you in.', {
      detail,
      headers: { 'WWW-Authenticate': 'Bearer' },
    })
  if (fault === 'SSO_ADDRESS_REFUSED')
    return new Problem(422, 'sso-address-refused', 'The provider is at an address that is not asked.', { detail })
  return new Problem(502, 'sso-provider-failed', 'The provider cannot be relied on just now.', {
    detail,
    cause: problem.cause ?? problem,
  })
}
