import { type SsoClientConfigBody, type Violation, firstParty, longestApplicationText } from '@sluice/contracts'
import { problems } from '@sluice/http-server'
import { skeletonOf } from '../../sign-in/username.ts'

const leastVariety = 10

/** Rejects inconsistent application settings, all in one problem. */
export function assertConsistent(body: SsoClientConfigBody, confidential: boolean): void {
  for (const name of ['ssoClientId', 'clientName'] as const)
    if (body[name].length > longestApplicationText)
      throw problems.refused(`/${name}`, `This installation takes at most ${longestApplicationText} characters here.`)
  const violations = [
    ...idViolations(body),
    ...secretViolations(body),
    ...grantViolations(body, confidential),
    ...redirectViolations(body),
  ]
  if (violations.length > 0) throw problems.malformed(violations)
}

function* idViolations({ ssoClientId }: SsoClientConfigBody): Iterable<Violation> {
  if (ssoClientId.trim() !== ssoClientId)
    yield { pointer: '/ssoClientId', detail: 'must not begin or end with a space' }
  if (skeletonOf(ssoClientId) === skeletonOf(firstParty))
    yield { pointer: '/ssoClientId', detail: 'is the name of our own sign-in' }
}

/** The secret is stored as a fast hash, so it must be random and not chosen by a person. */
function* secretViolations({ clientSecret }: SsoClientConfigBody): Iterable<Violation> {
  if (clientSecret && new Set(clientSecret).size < leastVariety)
    yield { pointer: '/clientSecret', detail: `must hold ${leastVariety} different characters: make one by chance` }
}

function* grantViolations({ grantTypes, scopes }: SsoClientConfigBody, confidential: boolean): Iterable<Violation> {
  const granted = new Set(grantTypes.map(({ value }) => value))
  if (granted.size === 0) yield { pointer: '/grantTypes', detail: 'must have at least 1 items' }
  if (granted.has('refresh_token') && !granted.has('authorization_code'))
    yield { pointer: '/grantTypes', detail: 'must have authorization_code with refresh_token' }
  if (granted.has('client_credentials') && !confidential)
    yield { pointer: '/clientSecret', detail: 'is required for the grant type client_credentials' }
  if (granted.has('authorization_code') && !scopes.includes('openid'))
    yield { pointer: '/scopes', detail: 'must have openid for the grant type authorization_code' }
  if (scopes.includes('offline_access') && !granted.has('refresh_token'))
    yield { pointer: '/scopes', detail: 'must not have offline_access without the grant type refresh_token' }
}

function redirectViolations({ grantTypes, redirectUris }: SsoClientConfigBody): Violation[] {
  const needed = grantTypes.some(({ value }) => value === 'authorization_code')
  if (needed && redirectUris.length === 0)
    return [{ pointer: '/redirectUris', detail: 'must have at least 1 items for the grant type authorization_code' }]
  return redirectUriViolations(redirectUris)
}

const loopback = ['127.0.0.1', '[::1]']

/**
 * Returns why an address is not allowed as a redirect URI; undefined if it is allowed. The provider compares addresses as
 * text, so only addresses that every browser parses in the same way are allowed.
 */
function wrongWithRedirectUri(uri: string): string | undefined {
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

/** Returns a violation with the reason for each rejected redirect URI. */
const redirectUriViolations = (uris: readonly string[]): Violation[] =>
  uris.flatMap((uri, index) => {
    const detail = wrongWithRedirectUri(uri)
    return detail === undefined ? [] : [{ pointer: `/redirectUris/${index}`, detail }]
  })
