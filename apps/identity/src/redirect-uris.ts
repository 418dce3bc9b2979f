const loopbackHosts = ['127.0.0.1', '[::1]']

/**
 * Returns the reason why an address is not allowed as a redirect URI; undefined if it is allowed. The provider compares
 * redirect URIs as strings, so only addresses that every browser parses in the same way are allowed.
 */
export function findRedirectUriFault(uri: string): string | undefined {
  if (!/^[!-~]+$/.test(uri)) return 'must contain only printable ASCII without spaces'
  if (!URL.canParse(uri)) return 'must be an absolute address'
  const { protocol, hostname, username, password, href } = new URL(uri)
  if (protocol !== 'https:' && !(protocol === 'http:' && loopbackHosts.includes(hostname)))
    return 'must begin with https:// (or with http://127.0.0.1 or http://[::1] for a program on the user’s own machine)'
  if (username || password) return 'must not contain a username or password'
  if (uri.includes('#')) return 'must not contain a fragment (#)'
  if (/[*\\]/.test(uri)) return 'must not contain * or \\; list every address in full'
  if (href !== uri) return `must be written as browsers normalize it: ${href.slice(0, 500)}`
  return undefined
}
