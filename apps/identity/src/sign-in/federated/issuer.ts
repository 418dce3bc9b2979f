import type { SsoProvider } from '@sluice/contracts'
import { problems } from '@sluice/http'

const wellKnown = /\/\.well-known\/openid-configuration\/?$/
const refused = (detail: string) => problems.refused('/clientDomain', detail)

/**
 * The issuer that a config names: `https://<clientDomain>/` of a vendor, else the whole address or its host. People paste the
 * address of the metadata too, so its end is not looked at. Throws 422 with a sentence for what is neither.
 */
export function issuerOf(provider: SsoProvider, clientDomain: string): URL {
  const bare = !clientDomain.includes('/')
  if (provider === 'IDP_VENDOR' && !bare)
    throw refused('Of a vendor, give the domain only, such as acme.eu.vendor.com; for a whole address choose GENERIC.')
  const text = bare ? `https://${clientDomain}` : clientDomain.replace(wellKnown, '')
  if (!URL.canParse(text))
    throw refused('This is neither a domain nor an address, such as https://sso.example.org/acme.')
  const url = new URL(text)
  if (!['https:', 'http:'].includes(url.protocol)) throw refused('The address of a provider begins with https://.')
  if (url.username || url.password) throw refused('The address of a provider holds no username and no password.')
  if (text.includes('?') || text.includes('#')) throw refused('The address of a provider has no ? and no # in it.')
  if (bare && url.host !== clientDomain.toLowerCase())
    throw refused('This is not a domain, such as acme.eu.vendor.com.')
  return url
}
