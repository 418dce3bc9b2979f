import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Request, Response } from 'express'
import { problems } from '@sluice/http-server'
import { findCookie } from './cookies.ts'

/** Protects the forms of the pages against CSRF. See docs/decisions/0018. */
export interface CsrfGuard {
  /** Returns a CSRF token for the forms of a page. Sets the browser's cookie if it is missing. */
  issue(request: Request, response: Response): string
  /**
   * Returns a value that proves that this browser received the link to `form`. Sets the browser's cookie if it is
   * missing.
   */
  issueLinkProof(request: Request, response: Response, form: string): string
  hasLinkProof(request: Pick<Request, 'headers'>, form: string, proof: string): boolean
  /**
   * Throws 403 unless the form comes from a Sluice page in this browser. The form must be parsed into `request.body`.
   */
  assertValid(request: Request): void
}

interface CsrfSettings {
  IDENTITY_PUBLIC_URL: string
  SERVICE_SECRET: string
}

export const csrfField = 'csrf'

export function createCsrfGuard({ IDENTITY_PUBLIC_URL, SERVICE_SECRET }: CsrfSettings): CsrfGuard {
  const { origin, protocol } = new URL(IDENTITY_PUBLIC_URL)
  const secure = protocol === 'https:'
  // Browsers accept a cookie with the prefix `__Host-` only from this host, not from sibling domains.
  const cookie = secure ? '__Host-sluice-form' : 'sluice-form'
  const key = createHmac('sha256', SERVICE_SECRET).update('forms of the pages').digest()
  const signNonce = (browser: string, nonce: string) => createHmac('sha256', key).update(`${browser}.${nonce}`).digest()

  /**
   * Returns the random id from the browser's cookie, or sets a new one. Stores a new id in `locals`, so that two
   * forms of one response share it.
   */
  const identifyBrowser = (request: Request, response: Response): string => {
    const existing = readBrowserCookie(request, cookie) ?? (response.locals.formBrowser as string | undefined)
    const browser = existing ?? setBrowserCookie(response, cookie, secure)
    response.locals.formBrowser = browser
    return browser
  }
  // Nonces contain no dot, so a form token is never valid as a link proof, and a link proof never as a form token.
  const signLink = (browser: string, form: string) => signNonce(browser, `link.${form}`)

  return {
    issueLinkProof: (request, response, form) =>
      signLink(identifyBrowser(request, response), form).toString('base64url'),
    hasLinkProof(request, form, proof) {
      const browser = readBrowserCookie(request, cookie)
      return browser !== undefined && isSameProof(Buffer.from(proof, 'base64url'), signLink(browser, form))
    },
    issue(request, response) {
      const browser = identifyBrowser(request, response)
      // Each page gets a different token, so that the size of the compressed page does not reveal it (BREACH attack).
      const nonce = randomBytes(12).toString('base64url')
      return `${nonce}.${signNonce(browser, nonce).toString('base64url')}`
    },
    assertValid(request) {
      if (isCrossSiteRequest(request, origin))
        throw problems.forbidden(
          'The form comes from another site. Open the page of Sluice, and send the form from there.',
        )
      const browser = readBrowserCookie(request, cookie)
      const token: unknown = (request.body as Record<string, unknown> | undefined)?.[csrfField]
      const [nonce = '', proof = ''] = typeof token === 'string' ? token.split('.') : []
      if (!browser || !isSameProof(Buffer.from(proof, 'base64url'), signNonce(browser, nonce)))
        throw problems.forbidden('The form was not issued to this browser. Reload the page and send it again.')
    },
  }
}

/**
 * Returns whether a request comes from another site. Uses the header Sec-Fetch-Site, which scripts cannot set and all
 * current browsers send over https. If it is missing, uses Origin. Sluice's own pages send the origin `null`, because
 * their referrer policy is `no-referrer`.
 */
function isCrossSiteRequest(request: Request, publicOrigin: string): boolean {
  const site = request.get('sec-fetch-site')
  if (site !== undefined) return site !== 'same-origin'
  const origin = request.get('origin')
  const allowedOrigins = ['null', publicOrigin, `${request.protocol}://${request.headers.host}`]
  return origin !== undefined && !allowedOrigins.includes(origin)
}

const isSameProof = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

function setBrowserCookie(response: Response, cookie: string, secure: boolean): string {
  const browser = randomBytes(18).toString('base64url')
  // `lax` instead of `strict`, because links in mails and applications lead here: with `strict`, such a visit would get
  // a new cookie and break the forms in other tabs.
  response.cookie(cookie, browser, { httpOnly: true, secure, sameSite: 'lax', path: '/' })
  return browser
}

function readBrowserCookie(request: Pick<Request, 'headers'>, cookie: string): string | undefined {
  const value = findCookie(request.headers.cookie, cookie)
  return value && /^[\w-]{24}$/.test(value) ? value : undefined
}
