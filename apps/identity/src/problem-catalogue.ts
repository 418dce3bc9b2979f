import type { KnownProblem } from '@sluice/http'

/** The problems that only this service answers. */
export const identityProblems: readonly KnownProblem[] = [
  {
    code: 'sign-in-failed',
    status: 401,
    title: 'You are not signed in.',
    when: 'The username, password, code or single sign-on is not right, or the user may not sign in this way. Which of these is in the audit only.',
  },
  {
    code: 'sso-unknown',
    status: 400,
    title: 'This sign-in is not known.',
    when: 'A single sign-on was finished already, took longer than ten minutes, or began in another browser: start again.',
  },
  {
    code: 'sso-denied',
    status: 401,
    title: 'The provider did not sign you in.',
    when: 'The provider said no, or the user did: `detail` has its words.',
  },
  {
    code: 'sso-address-refused',
    status: 422,
    title: 'The provider is at an address that is not asked.',
    when: 'The provider, or an endpoint it names, is at a private or special-use address that the operator has not allowed.',
  },
  {
    code: 'sso-provider-failed',
    status: 502,
    title: 'The provider cannot be relied on just now.',
    when: 'The provider does not answer, or not as OpenID Connect has it: `detail` says what is wrong. The test operation of the config tells more.',
  },
  {
    code: 'unreadable-form',
    status: 400,
    title: 'The form cannot be read.',
    when: 'On pages only: the form is too long or not a form.',
  },
]
