import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  clockTolerance,
  Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  None,
  type ClientAuth,
  type CustomFetch,
  type ServerMetadata,
} from 'openid-client'
import type { SsrfSafeFetch } from '@sluice/http-client'
import { ProviderProblem, toProviderProblem } from './provider-problem.ts'

/** Access to SSO providers over the network. */
export interface Federation {
  outgoing: SsrfSafeFetch
  /** Returns provider metadata that is at most an hour old. Throws `ProviderProblem`. */
  metadata(issuer: URL): Promise<ServerMetadata>
  /** Removes the metadata from the cache. Call it after an endpoint failed. */
  forget(issuer: URL): void
}

/** Cache times in milliseconds. Failures are cached briefly, to limit requests to a failing provider. */
const cacheMs = { found: 3_600_000, failed: 5_000 }
/** The maximum number of cached providers. The cache evicts the oldest first. */
const maxCached = 1000

/**
 * Returns the access to SSO providers: outgoing requests, and a cache of the providers' metadata. Concurrent callers
 * share one request. Failed requests are cached too, for a shorter time.
 */
export function createFederation(outgoing: SsrfSafeFetch): Federation {
  const cache = new Map<string, { expiresAt: number; metadataPromise: Promise<ServerMetadata> }>()

  const discoverAndCache = (issuer: URL): Promise<ServerMetadata> => {
    const metadataPromise = discoverMetadata(issuer, outgoing)
    const entry = { expiresAt: Date.now() + cacheMs.found, metadataPromise }
    metadataPromise.catch(() => {
      entry.expiresAt = Date.now() + cacheMs.failed
    })
    // Deleting an existing entry first moves the issuer to the end of the map, so the first entry is the oldest.
    cache.delete(issuer.href)
    cache.set(issuer.href, entry)
    const [oldestIssuer] = cache.keys()
    if (cache.size > maxCached && oldestIssuer !== undefined) cache.delete(oldestIssuer)
    return metadataPromise
  }

  return {
    outgoing,
    metadata(issuer) {
      const cached = cache.get(issuer.href)
      return cached && Date.now() < cached.expiresAt ? cached.metadataPromise : discoverAndCache(issuer)
    },
    forget: (issuer) => void cache.delete(issuer.href),
  }
}

/** Limits for provider requests in milliseconds and bytes. They are low, because users wait and responses are small. */
export const outgoingLimits = { timeLimitMs: 5_000, maxBytes: 65_536 }

/** The accepted asymmetric signature algorithms of ID tokens. */
export const acceptedAlgorithms = ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519']

const clockToleranceSeconds = 10

/** Fetches the metadata of a provider and checks its issuer. Throws `ProviderProblem`. */
async function discoverMetadata(issuer: URL, outgoing: SsrfSafeFetch): Promise<ServerMetadata> {
  const options = { [customFetch]: outgoing.fetch as CustomFetch, execute: listHttpExtensions(issuer) }
  const configuration = await discovery(issuer, 'discovery', undefined, None(), options).catch((error: unknown) => {
    throw toDiscoveryProblem(error, issuer)
  })
  // Copy the metadata, because the library's object also has methods.
  const { ...metadata } = configuration.serverMetadata()
  // The library accepts other issuers for some vendors that share one issuer; Sluice does not.
  if (new URL(metadata.issuer).href !== issuer.href) throw createIssuerMismatch(metadata.issuer, issuer)
  assertMetadataUsable(metadata)
  return metadata
}

/** Returns the problem for a failed metadata request; the error itself if it is internal. */
function toDiscoveryProblem(error: unknown, issuer: URL): unknown {
  const { cause } = (error ?? {}) as { cause?: { attribute?: string; body?: { issuer?: unknown } } }
  const hasOtherIssuer = cause?.attribute === 'issuer'
  if (hasOtherIssuer) return createIssuerMismatch(String(cause.body?.issuer), issuer)
  const problem = toProviderProblem(error)
  if (problem?.fault !== 'SSO_ANSWER_INVALID') return problem ?? error
  return new ProviderProblem(
    'SSO_ANSWER_INVALID',
    `No OpenID Connect metadata was found at ${issuer.href.replace(/\/$/, '')}/.well-known/openid-configuration. ${problem.message}`,
    error,
  )
}

const createIssuerMismatch = (namedIssuer: string, issuer: URL) =>
  new ProviderProblem(
    'SSO_ISSUER_MISMATCH',
    `The provider at ${issuer.href} names the issuer ${toPrintableAscii(namedIssuer)}. If that is correct, enter it as clientDomain.`,
  )

const toPrintableAscii = (text: string) => text.replaceAll(/[^ -~]/g, '?').slice(0, 300)

/** Throws `ProviderProblem` if an endpoint is missing, or if the provider supports no accepted signature algorithm. */
function assertMetadataUsable({ authorization_endpoint, token_endpoint, jwks_uri, ...metadata }: ServerMetadata): void {
  const endpoints = { authorization_endpoint, token_endpoint, jwks_uri }
  const unusableEndpoint = Object.entries(endpoints).find(([, url]) => typeof url !== 'string' || !URL.canParse(url))
  if (unusableEndpoint)
    throw new ProviderProblem(
      'SSO_NOT_SUPPORTED',
      `The provider’s metadata has no usable ${unusableEndpoint[0]}. Correct the configuration of the provider.`,
    )
  if (listAlgorithms(metadata as ServerMetadata).length === 0)
    throw new ProviderProblem(
      'SSO_NOT_SUPPORTED',
      `The provider supports no signature algorithm that Sluice accepts (${acceptedAlgorithms.join(', ')}). Enable one of them there.`,
    )
}

/** Returns the signature algorithms that both Sluice and the provider support; RS256 if the provider lists none. */
export const listAlgorithms = ({ id_token_signing_alg_values_supported: supported }: ServerMetadata): string[] =>
  Array.isArray(supported) ? supported.filter((name) => acceptedAlgorithms.includes(name)) : ['RS256']

export interface ClientRegistration {
  metadata: ServerMetadata
  clientId: string
  clientSecret: string | undefined
  /** The redirect URI that is registered at the provider. */
  redirectUri: string
}

/**
 * Returns the library's configuration for one code exchange. It has no cached keys, so that a key rotation of the
 * provider applies at once.
 */
export function createClientConfig(
  { metadata, ...client }: ClientRegistration,
  outgoing: SsrfSafeFetch,
): Configuration {
  const config = new Configuration(
    { ...metadata, id_token_signing_alg_values_supported: listAlgorithms(metadata) },
    client.clientId,
    { [clockTolerance]: clockToleranceSeconds },
    chooseClientAuth(metadata, client.clientSecret),
  )
  for (const allowHttp of listHttpExtensions(new URL(metadata.issuer))) allowHttp(config)
  enableNonRepudiationChecks(config)
  config[customFetch] = (url, options) => {
    // The library sends the redirect URI without its query, but Sluice's redirect URI names the config in its query.
    if (options.body instanceof URLSearchParams && options.body.has('redirect_uri'))
      options.body.set('redirect_uri', client.redirectUri)
    return outgoing.fetch(url, options as RequestInit)
  }
  return config
}

/** Allows plain http only for an issuer with http. `outgoing` decides which hosts may use http. */
const listHttpExtensions = ({ protocol }: URL) => (protocol === 'http:' ? [allowInsecureRequests] : [])

/**
 * Sends the secret in the body if the provider supports that. The alternative is a header with an encoded secret (RFC
 * 6749), and providers that do not decode it reject every secret with a dash.
 */
function chooseClientAuth(
  { token_endpoint_auth_methods_supported: methods }: ServerMetadata,
  secret: string | undefined,
): ClientAuth {
  if (secret === undefined) return None()
  const inBody = Array.isArray(methods) && methods.includes('client_secret_post')
  return inBody ? ClientSecretPost(secret) : ClientSecretBasic(secret)
}
