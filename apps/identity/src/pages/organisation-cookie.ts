import type { Request, Response } from 'express'
import { cookieIn } from '../cookies.ts'
import type { Organisation } from './parts/frame.ts'

const cookie = 'sluice-organisation'
const milliseconds = 15 * 60_000

/**
 * Lets the pages that follow be in an organisation's name as well, though nothing in their address says whose they are.
 * It decides nothing but what is written on top.
 */
export function rememberOrganisation(response: Response, { name }: Organisation, secure: boolean): void {
  const value = Buffer.from(name).toString('base64url')
  response.cookie(cookie, value, { httpOnly: true, secure, sameSite: 'lax', path: '/', maxAge: milliseconds })
}

export function rememberedOrganisation(request: Request): Organisation | undefined {
  const value = cookieIn(request.headers.cookie, cookie) ?? ''
  const name = /^[\w-]{1,1400}$/.test(value) && Buffer.from(value, 'base64url').toString('utf8').slice(0, 255)
  return name ? { name } : undefined
}
