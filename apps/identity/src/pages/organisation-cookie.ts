import type { Request, Response } from 'express'
import { findCookie } from '../cookies.ts'
import type { Organisation } from './components/page-layout.ts'

const organisationCookieName = 'sluice-organisation'
const cookieMaxAgeMs = 15 * 60_000

/**
 * Stores the organisation's name in a cookie, for the headers of later pages. The addresses of these pages do not
 * contain it.
 */
export function setOrganisationCookie(response: Response, { name }: Organisation, secure: boolean): void {
  const value = Buffer.from(name).toString('base64url')
  response.cookie(organisationCookieName, value, {
    httpOnly: true,
    secure,
    sameSite: 'lax',
    path: '/',
    maxAge: cookieMaxAgeMs,
  })
}

export function readOrganisationCookie(request: Request): Organisation | undefined {
  const value = findCookie(request.headers.cookie, organisationCookieName) ?? ''
  const name = /^[\w-]{1,1400}$/.test(value) && Buffer.from(value, 'base64url').toString('utf8').slice(0, 255)
  return name ? { name } : undefined
}
