import { findCookie } from '../../cookies.ts'
import { stateLifetimeSeconds } from './pending-sign-in.ts'

/**
 * Cookies that bind pending sign-ins to a browser. Each pending sign-in has its own cookie, so that two tabs do not
 * interfere. SameSite is Lax, because the callback comes from another site. The prefix __Host- prevents sibling domains
 * from setting the cookie.
 */
export interface BrowserCookies {
  set(browser: string, secret: string): string
  clear(browser: string): string
  /** Returns the secret; undefined if the cookie is missing or malformed. */
  read(header: string | undefined, browser: string): string | undefined
}

/** 32 bytes in base64url. */
const secretPattern = /^[\w-]{43}$/

/**
 * Returns the functions for the cookies that contain the secrets of pending sign-ins. Browsers send them to `callback`,
 * the address to which providers redirect browsers. `browser` is the hash of the secret (see `PendingSignIn`); the
 * first 16 characters are part of the cookie's name, so that one browser can have several pending sign-ins.
 */
export function createBrowserCookies(callback: URL): BrowserCookies {
  const secure = callback.protocol === 'https:'
  const formatName = (browser: string) => `${secure ? '__Host-' : ''}sluice-sso-${browser.slice(0, 16)}`
  const attributes = secure ? 'Path=/; Secure' : `Path=${callback.pathname}`
  const formatCookie = (browser: string, value: string, maxAge: number) =>
    `${formatName(browser)}=${value}; ${attributes}; HttpOnly; SameSite=Lax; Max-Age=${maxAge}`
  return {
    set: (browser, secret) => formatCookie(browser, secret, stateLifetimeSeconds),
    clear: (browser) => formatCookie(browser, '', 0),
    read(header, browser) {
      const secret = findCookie(header, formatName(browser))
      return secret && secretPattern.test(secret) ? secret : undefined
    },
  }
}
