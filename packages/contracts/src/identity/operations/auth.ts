import { signature } from '../../operation.ts'
import { LoginBody, RefreshBody, Tokens } from '../sign-in.ts'

export const auth = {
  login: signature({
    id: 'auth.login',
    summary: 'Sign in with a password',
    method: 'post',
    path: '/auth/login',
    guard: 'anyone',
    body: LoginBody,
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
