import { cookieIn } from '../../cookies.ts'
import { stateLifetimeSeconds } from './pending-sign-in.ts'

/**
 * One cookie for each sign-in under way, so that two tabs do not disturb each other. Lax, because the way back comes from
 * another site; __Host- keeps neighbours below the same domain from setting one.
 */
export interface BrowserCookies {
  set(browser: string, secret: string): string
  clear(browser: string): string
  /** Returns undefined if the cookie is missing or malformed. */
  read(header: string | undefined, browser: string): string | undefined
}

/** `callback` is the address that providers send browsers back to. */
export function browserCookies(callback: URL): BrowserCookies {
  const secure = callback.protocol === 'https:'
  const name = (browser: string) => `${secure ? '__Host-' : ''}sluice-sso-${browser.slice(0, 16)}`
  const attributes = secure ? 'Path=/; Secure' : `Path=${callback.pathname}`
  const cookie = (browser: string, value: string, maxAge: number) =>
    `${name(browser)}=${value}; ${attributes}; HttpOnly; SameSite=Lax; Max-Age=${maxAge}`
  return {
    set: (browser, secret) => cookie(browser, secret, stateLifetimeSeconds),
    clear: (browser) => cookie(browser, '', 0),
    read(header, browser) {
      const found = cookieIn(header, name(browser))
      return found && /^[\w-]{43}$/.test(found) ? found : undefined
    },
  }
}
