import type { Violation } from '@sluice/contracts'

const loopback = ['127.0.0.1', '[::1]']

/**
 * What keeps an address from being one that browsers are sent to with a code. Addresses are compared as they are written,
 * so only what every browser reads the one way is taken.
 */
export function wrongWithRedirectUri(uri: string): string | undefined {
  if (!/^[!-~]+$/.test(uri)) return 'must hold printable ASCII only, without spaces'
  if (!URL.canParse(uri)) return 'must be an absolute address'
  const { protocol, hostname, username, password, href } = new URL(uri)
  if (protocol !== 'https:' && !(protocol === 'http:' && loopback.includes(hostname)))
    return 'must begin with https:// (or with http://127.0.0.1 or http://[::1] for a program on the user’s own machine)'
  if (username || password) return 'must not hold a username or password'
  if (uri.includes('#')) return 'must not hold a fragment (#)'
  if (/[*\\]/.test(uri)) return 'must not hold * or \\: every address is written out'
  if (href !== uri) return `must be written the way browsers read it: ${href.slice(0, 500)}`
  return undefined
}

/** Every redirect URI that is refused, and why. */
export const redirectUriViolations = (uris: readonly string[]): Violation[] =>
  uris.flatMap((uri, index) => {
    const detail = wrongWithRedirectUri(uri)
    return detail === undefined ? [] : [{ pointer: `/redirectUris/${index}`, detail }]
  })
