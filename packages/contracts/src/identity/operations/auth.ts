import { signature } from '../../operation.ts'
import { LoginAnswer, LoginBody, LoginCodeBody, RefreshBody, Tokens } from '../sign-in.ts'

export const auth = {
  login: signature({
    id: 'auth.login',
    summary: 'Sign in with a password',
    description: 'Answers tokens, or the demand for a second factor where the user has one.',
    method: 'post',
    path: '/auth/login',
    guard: 'anyone',
    body: LoginBody,
    response: LoginAnswer,
  }),
  loginWithCode: signature({
    id: 'auth.loginWithCode',
    summary: 'Complete a sign-in with a code of the second factor',
    method: 'post',
    path: '/auth/login/code',
    guard: 'anyone',
    body: LoginCodeBody,
    response: Tokens,
  }),
  refresh: signature({
    id: 'auth.refresh',
    summary: 'Exchange a refresh token, once, for new tokens',
    method: 'post',
    path: '/auth/refresh',
    guard: 'anyone',
    body: RefreshBody,
    response: Tokens,
  }),
  logout: signature({
    id: 'auth.logout',
    summary: 'End the session of this token',
    method: 'post',
    path: '/auth/logout',
    guard: 'signed-in',
  }),
}
