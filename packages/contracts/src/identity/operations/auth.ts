import { defineSignature } from '../../operation-signature.ts'
import { LoginAnswer, LoginBody, LoginCodeBody, RefreshBody, TokenPair } from '../sign-in.ts'
import { SsoCallbackQuery, SsoStartQuery } from '../sso-sign-in.ts'
import { AcceptInvitationBody, ForgotPasswordBody, ResetPasswordBody } from '../passwords.ts'

/** Operations for users who have no password or have lost it. */
const authLinks = {
  acceptInvitation: defineSignature({
    id: 'auth.acceptInvitation',
    summary: 'Accept an invitation and set a password',
    description: 'The user becomes ACTIVE and can sign in. Users with single sign-on omit the password.',
    method: 'post',
    path: '/auth/accept-invitation',
    guard: 'anyone',
    body: AcceptInvitationBody,
  }),
  forgotPassword: defineSignature({
    id: 'auth.forgotPassword',
    summary: 'Request an email with a password reset link',
    description: 'The response is the same whether the user exists or not.',
    method: 'post',
    path: '/auth/forgot-password',
    guard: 'anyone',
    body: ForgotPasswordBody,
  }),
  resetPassword: defineSignature({
    id: 'auth.resetPassword',
    summary: 'Set a new password with an emailed link',
    description: 'Ends every session of the user.',
    method: 'post',
    path: '/auth/reset-password',
    guard: 'anyone',
    body: ResetPasswordBody,
  }),
}

export const authSignatures = {
  login: defineSignature({
    id: 'auth.login',
    summary: 'Sign in with a password',
    description: 'Returns tokens, or the request for a second factor if the user has one.',
    method: 'post',
    path: '/auth/login',
    guard: 'anyone',
    body: LoginBody,
    response: LoginAnswer,
  }),
  loginWithCode: defineSignature({
    id: 'auth.loginWithCode',
    summary: 'Complete a sign-in with a code of the second factor',
    method: 'post',
    path: '/auth/login/code',
    guard: 'anyone',
    body: LoginCodeBody,
    response: TokenPair,
  }),
  refresh: defineSignature({
    id: 'auth.refresh',
    summary: 'Exchange a refresh token for new tokens',
    method: 'post',
    path: '/auth/refresh',
    guard: 'anyone',
    body: RefreshBody,
    response: TokenPair,
  }),
  finishSso: defineSignature({
    id: 'auth.finishSso',
    summary: 'Complete a sign-in at the SSO provider',
    description:
      'The provider redirects the browser to this address. The response contains the tokens or the problem, as JSON or, if the Accept header prefers HTML, as a page. If the sign-in started on a page of the OpenID Provider, the response redirects back to that page (302).',
    method: 'get',
    path: '/auth/sso/callback',
    guard: 'anyone',
    effect: 'write',
    query: SsoCallbackQuery,
    response: TokenPair,
    mayRedirect: true,
    hasHtmlPage: true,
  }),
  startSso: defineSignature({
    id: 'auth.startSso',
    summary: 'Sign in at the SSO provider of a client',
    description: 'For browsers: redirects to the provider and sets a cookie that the callback requires.',
    method: 'get',
    path: '/auth/sso/:clientCode',
    guard: 'anyone',
    status: 302,
    mayRedirect: true,
    query: SsoStartQuery,
  }),
  logout: defineSignature({
    id: 'auth.logout',
    summary: 'End the session of this token',
    method: 'post',
    path: '/auth/logout',
    guard: 'in-person',
  }),
  ...authLinks,
}
