import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Request, Response } from 'express'
import { problems } from '@sluice/http'
import { cookieIn } from './cookies.ts'

/** See docs/decisions/0018. */
export interface CsrfGuard {
  /** A token for the forms of a page; sets the browser's cookie where it has none. */
  issue(request: Request, response: Response): string
  /** Returns a proof that this browser was given the link to `what`; sets the browser's cookie if it is missing. */
  mark(request: Request, response: Response, what: string): string
  isMarked(request: Pick<Request, 'headers'>, what: string, mark: string): boolean
  /** Throws 403 unless the form, parsed into `request.body`, is from a Sluice page in this browser. */
  assertValid(request: Request): void
}

interface CsrfSettings {
  IDENTITY_PUBLIC_URL: string
  SERVICE_SECRET: string
}

/** The name of the hidden field. */
export const csrfField = 'csrf'

export function csrfGuard({ IDENTITY_PUBLIC_URL, SERVICE_SECRET }: CsrfSettings): CsrfGuard {
  const { origin, protocol } = new URL(IDENTITY_PUBLIC_URL)
  const secure = protocol === 'https:'
  // Only this host can set a cookie with this prefix; sibling domains cannot.
  const cookie = secure ? '__Host-sluice-form' : 'sluice-form'
  const key = createHmac('sha256', SERVICE_SECRET).update('forms of the pages').digest()
  const proofOf = (browser: string, nonce: string) => createHmac('sha256', key).update(`${browser}.${nonce}`).digest()

  const browserOf = (request: Request, response: Response): string => {
    const known = cookieOf(request, cookie) ?? (response.locals.formBrowser as string | undefined)
    return (response.locals.formBrowser = known ?? newBrowser(response, cookie, secure))
  }
  // No nonce has a dot in it, so that neither passes for the other.
  const markOf = (browser: string, what: string) => proofOf(browser, `link.${what}`)

  return {
    mark: (request, response, what) => markOf(browserOf(request, response), what).toString('base64url'),
    isMarked(request, what, mark) {
      const browser = cookieOf(request, cookie)
      return browser !== undefined && isSame(Buffer.from(mark, 'base64url'), markOf(browser, what))
    },
    issue(request, response) {
      const browser = browserOf(request, response)
      // Another text on every page, so that compression gives nothing of it away.
      const nonce = randomBytes(12).toString('base64url')
      return `${nonce}.${proofOf(browser, nonce).toString('base64url')}`
    },
    assertValid(request) {
      if (isForeign(request, origin)) throw problems.forbidden('The form was sent from another site.')
      const browser = cookieOf(request, cookie)
      const given: unknown = (request.body as Record<string, unknown> | undefined)?.[csrfField]
      const [nonce = '', proof = ''] = typeof given === 'string' ? given.split('.') : []
      if (!browser || !isSame(Buffer.from(proof, 'base64url'), proofOf(browser, nonce)))
        throw problems.forbidden('The form is not one that this browser was given.')
    },
  }
}

/**
 * Sec-Fetch-Site cannot be set by a page, and is sent by every browser of the day over https. Origin is the next best; our
 * own pages send `null`, because their referrer policy is `no-referrer`.
 */
function isForeign(request: Request, ours: string): boolean {
  const site = request.get('sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin'
  const origin = request.get('origin')
  return (
    origin !== undefined &&
    origin !== 'null' &&
    origin !== ours &&
    origin !== `${request.protocol}://${request.headers.host}`
  )
}

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

function newBrowser(response: Response, cookie: string, secure: boolean): string {
  const browser = randomBytes(18).toString('base64url')
  // Lax and not Strict: one comes here from a mail or an application, and other tabs must go on working.
  response.cookie(cookie, browser, { httpOnly: true, secure, sameSite: 'lax', path: '/' })
  return browser
}

function cookieOf(request: Pick<Request, 'headers'>, cookie: string): string | undefined {
  const value = cookieIn(request.headers.cookie, cookie)
  return value && /^[\w-]{24}$/.test(value) ? value : undefined
}
