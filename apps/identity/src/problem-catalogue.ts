import type { KnownProblem } from '@sluice/http-server'

/** The problems that only this service returns. */
export const identityProblems: readonly KnownProblem[] = [
  {
    code: 'sign-in-failed',
    status: 401,
    title: 'Sign-in failed.',
    when: 'The username, password, code or SSO sign-in was not accepted, or the user must sign in another way. The reason is only in the audit log.',
  },
  {
    code: 'sso-unknown',
    status: 400,
    title: 'The sign-in is unknown or has expired.',
    when: 'The SSO sign-in was already completed, took longer than ten minutes, or was started in another browser. Start again.',
  },
  {
    code: 'sso-denied',
    status: 401,
    title: 'The provider declined the sign-in.',
    when: "The user or the provider declined the sign-in. `detail` contains the provider's answer.",
  },
  {
    code: 'sso-address-refused',
    status: 422,
    title: 'The address of the provider is not allowed.',
    when: 'The provider or one of its endpoints has a private or reserved address. Ask the operator to allow it in `OUTGOING_ALLOWED`.',
  },
  {
    code: 'sso-provider-failed',
    status: 502,
    title: 'The provider failed.',
    when: 'The provider does not answer, or its answer violates OpenID Connect. `detail` says how; run the connection test of the provider configuration.',
  },
  {
    code: 'unreadable-form',
    status: 400,
    title: 'The form cannot be read.',
    when: 'Pages only: the form is too large or cannot be parsed. Reload the page and send it again.',
  },
]
