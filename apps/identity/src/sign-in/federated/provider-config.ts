import { type Kysely, sql } from 'kysely'
import type { SsoProvider } from '@sluice/contracts'
import type { KeyRing } from '@sluice/database'
import type { Config } from '../../config.ts'
import type { DB } from '../../database.ts'
import { problems } from '@sluice/http-server'

/** The SSO provider config of an organisation, with the secret decrypted. */
export interface ProviderConfig {
  id: number
  /** Incremented by every change of the config. */
  version: number
  uid: string
  /** The organisation's uid. */
  client: string
  issuer: URL
  clientId: string
  clientSecret: string | undefined
  mappingClaim: string
  redirectUri: string
}

interface ProviderConfigRow {
  id: number
  version: number
  uid: string
  client: string
  provider: SsoProvider
  client_id: string | null
  client_secret: string | null
  client_domain: string
  mapping_claim: string
}

type ProviderSettings = Pick<Config, 'IDENTITY_PUBLIC_URL' | 'SECRET_KEYS'>

/**
 * Finds a config by its uid or by the organisation's code (case-insensitive). Returns undefined if the organisation is
 * unknown or disabled, or if the config is incomplete.
 */
export async function findProviderConfig(
  db: Kysely<DB>,
  settings: ProviderSettings,
  key: { clientCode: string } | { uid: string },
): Promise<ProviderConfig | undefined> {
  const hasKey =
    'uid' in key ? sql`provider_configs.uid = ${key.uid}` : sql`lower(clients.code) = lower(${key.clientCode})`
  const { rows } = await sql<ProviderConfigRow>`
    select provider_configs.*
    from sso_provider_configs provider_configs join clients on clients.uid = provider_configs.client
    where ${hasKey} and not clients.disabled and provider_configs.client_id is not null`.execute(db)
  return rows[0] && toProviderConfig(rows[0], settings)
}

/** Converts a stored config: parses the issuer, decrypts the secret and adds the redirect URI. */
export function toProviderConfig(
  row: ProviderConfigRow,
  { IDENTITY_PUBLIC_URL, SECRET_KEYS }: ProviderSettings,
): ProviderConfig {
  return {
    id: row.id,
    version: row.version,
    uid: row.uid,
    client: row.client,
    issuer: parseIssuer(row.provider, row.client_domain),
    clientId: row.client_id ?? '',
    clientSecret: openSecret(row, SECRET_KEYS),
    mappingClaim: row.mapping_claim,
    redirectUri: `${buildCallbackUrl({ IDENTITY_PUBLIC_URL })}?provider=${row.uid}`,
  }
}

export const buildCallbackUrl = ({ IDENTITY_PUBLIC_URL }: Pick<ProviderSettings, 'IDENTITY_PUBLIC_URL'>): string =>
  `${IDENTITY_PUBLIC_URL}/api/v1/auth/sso/callback`

const clientSecretPurpose = (uid: string) => `sso_provider_configs.client_secret:${uid}`

export const openSecret = ({ uid, client_secret }: Pick<ProviderConfigRow, 'uid' | 'client_secret'>, ring: KeyRing) =>
  client_secret === null ? undefined : ring.open(client_secret, clientSecretPurpose(uid))

export const sealSecret = (uid: string, secret: string, ring: KeyRing): string =>
  ring.seal(secret, clientSecretPurpose(uid))

const wellKnown = /\/\.well-known\/openid-configuration\/?$/
const clientDomainProblem = (detail: string) => problems.refused('/clientDomain', detail)

/**
 * Returns the issuer of a config. For a vendor it is `https://<clientDomain>/`; otherwise `clientDomain` is a whole
 * address or a host. Removes the path of the metadata document, because users often paste that address. Throws 422 for
 * any other text.
 */
export function parseIssuer(provider: SsoProvider, clientDomain: string): URL {
  const isHost = !clientDomain.includes('/')
  if (provider === 'IDP_VENDOR' && !isHost)
    throw clientDomainProblem(
      'Enter only the domain of a vendor, such as acme.eu.vendor.com. For a whole address, choose GENERIC.',
    )
  const text = isHost ? `https://${clientDomain}` : clientDomain.replace(wellKnown, '')
  if (!URL.canParse(text))
    throw clientDomainProblem('Enter a domain or an address, such as https://sso.example.org/acme.')
  const url = new URL(text)
  if (!['https:', 'http:'].includes(url.protocol))
    throw clientDomainProblem('The address of a provider must begin with https://.')
  if (url.username || url.password)
    throw clientDomainProblem('The address of a provider must not contain a username or password.')
  if (text.includes('?') || text.includes('#'))
    throw clientDomainProblem('The address of a provider must not contain ? or #.')
  if (isHost && url.host !== clientDomain.toLowerCase())
    throw clientDomainProblem('Enter a domain, such as acme.eu.vendor.com.')
  return url
}
