import { type ServerMetadata, genericGrantRequest } from 'openid-client'
import type { ResultEnvelope } from '@sluice/contracts'
import { acceptedAlgorithms, listAlgorithms, createClientConfig, type Federation } from './provider-metadata.ts'
import type { ProviderConfig } from './provider-config.ts'
import { ProviderProblem, toProviderProblem } from './provider-problem.ts'

/**
 * Tests a provider without a user: its metadata, endpoints and keys, and its response to an invalid code. Reports
 * errors of the provider in the result; does not throw them.
 */
export async function testProvider(provider: ProviderConfig, federation: Federation): Promise<ResultEnvelope> {
  const data = { issuer: provider.issuer.href, redirectUri: provider.redirectUri }
  try {
    // The test must use current metadata, not cached metadata.
    federation.forget(provider.issuer)
    const metadata = await federation.metadata(provider.issuer)
    await assertEndpointsReachable(metadata, federation)
    const fault = await findKeysFault(metadata, federation)
    if (fault) throw fault
    if (!provider.clientId)
      throw new ProviderProblem(
        'SSO_CLIENT_REFUSED',
        'The provider answers. Enter the clientId under which Sluice is registered there.',
      )
    await assertClientAccepted(provider, metadata, federation)
    const warnings = [...listWarnings(provider, metadata)]
    return toTestResult(warnings, { ...data, ...describeProvider(metadata), warnings })
  } catch (error) {
    const problem = toProviderProblem(error)
    if (!problem) throw error
    return toResponse('ERROR', problem.fault, problem.message, data, describeCause(problem))
  }
}

/**
 * Throws `ProviderProblem` if an endpoint in the metadata has an address that outgoing requests may not reach, such as
 * an internal one, or if its host is unknown. The provider writes the metadata, so it is not trusted.
 */
async function assertEndpointsReachable(metadata: ServerMetadata, { outgoing }: Federation): Promise<void> {
  for (const name of ['token_endpoint', 'jwks_uri', 'userinfo_endpoint'] as const) {
    const url = metadata[name]
    if (url === undefined) continue
    await outgoing.check(url).catch((error: unknown) => {
      const { fault, message } = toProviderProblem(error)!
      throw new ProviderProblem(fault, `Sluice cannot reach the ${name} of the provider. ${message}`, error)
    })
  }
}

/**
 * Throws `ProviderProblem` if the provider rejects the client id or secret, or cannot be reached. Sends an invalid
 * authorization code: a provider that knows the client id and secret rejects only the code.
 */
async function assertClientAccepted(provider: ProviderConfig, metadata: ServerMetadata, federation: Federation) {
  const config = createClientConfig({ metadata, ...provider }, federation.outgoing)
  // A PKCE verifier has at least 43 characters (RFC 7636).
  const codeVerifier = 'made-up'.repeat(7)
  const parameters = { code: 'made-up', redirect_uri: provider.redirectUri, code_verifier: codeVerifier }
  try {
    await genericGrantRequest(config, 'authorization_code', parameters)
  } catch (error) {
    const problem = toProviderProblem(error)
    if (!problem) throw error
    const isCodeRejected = !['SSO_CLIENT_REFUSED', 'SSO_UNREACHABLE', 'SSO_ADDRESS_REFUSED'].includes(problem.fault)
    if (!isCodeRejected) throw problem
  }
}

/** Yields a sentence for each setting or announced capability with which sign-ins may be insecure or fail. */
function* listWarnings(
  { issuer, mappingClaim, clientSecret }: ProviderConfig,
  metadata: ServerMetadata,
): Iterable<string> {
  // A provider that does not announce a list may support the value.
  const excludes = (name: keyof ServerMetadata, value: string) => {
    const supported = metadata[name]
    return Array.isArray(supported) && !supported.includes(value)
  }
  const announcesPkce =
    metadata.code_challenge_methods_supported !== undefined && !excludes('code_challenge_methods_supported', 'S256')
  if (issuer.protocol === 'http:')
    yield 'The connection to the provider is without TLS (http://), so an attacker in the network can sign in as any user. Use https://.'
  if (!announcesPkce) yield 'The provider does not announce support for PKCE (S256). Sluice uses it anyway.'
  if (excludes('response_types_supported', 'code'))
    yield 'The provider does not announce support for the authorization code flow (response type code).'
  if (excludes('claims_supported', mappingClaim))
    yield `The provider does not list the claim ${mappingClaim} among those that it supports.`
  if (mappingClaim === 'email')
    yield 'The mapping claim is the e-mail address, which may change or pass to another person. A claim such as sub is safer. Sluice accepts only verified addresses.'
  if (clientSecret === undefined && excludes('token_endpoint_auth_methods_supported', 'none'))
    yield 'The clientSecret is missing, and the provider does not announce support for clients without one.'
}

const describeProvider = (metadata: ServerMetadata) => ({
  authorizationEndpoint: metadata.authorization_endpoint,
  tokenEndpoint: metadata.token_endpoint,
  userinfoEndpoint: metadata.userinfo_endpoint,
  algorithms: listAlgorithms(metadata).filter((name) => acceptedAlgorithms.includes(name)),
})

const toTestResult = (warnings: string[], data: Record<string, unknown>): ResultEnvelope =>
  warnings.length > 0
    ? toResponse('WARNING', 'SSO_DOUBTFUL', `The provider answers correctly. ${warnings.join(' ')}`, data)
    : toResponse('OK', 'OK', 'The provider answers correctly and its keys are usable. Now sign in through it.', data)

/** Returns the response with a test result. A negative result is a 200 response too. */
const toResponse = (
  status: ResultEnvelope['status'],
  errorCode: string,
  message: string,
  data: Record<string, unknown>,
  devMessage?: string,
): ResultEnvelope => ({
  status,
  httpStatus: '200 OK',
  httpStatusCode: 200,
  statusCode: 200,
  errorCode,
  message: message.slice(0, 2000),
  messageKey: `sso-provider.${errorCode.toLowerCase().replaceAll('_', '-')}`,
  ...(devMessage && { devMessage: devMessage.slice(0, 4000) }),
  data,
})

function describeCause({ cause }: ProviderProblem): string | undefined {
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : undefined
}

/** Returns the reason why the provider's keys are unusable; undefined if they are usable. */
async function findKeysFault(metadata: ServerMetadata, { outgoing }: Federation): Promise<ProviderProblem | undefined> {
  try {
    const response = await outgoing.fetch(metadata.jwks_uri!, { headers: { accept: 'application/json' } })
    if (response.status !== 200)
      return answerProblem(`The provider answered the request for its keys with status ${response.status}.`)
    const keys = parseKeys(await response.json())
    const isUsable = listAlgorithms(metadata).some((algorithm) => keys.some((key) => canVerifyIdToken(key, algorithm)))
    if (isUsable) return undefined
    return answerProblem('The provider publishes no key that can verify an ID token. Enable a signing key there.')
  } catch (error) {
    const problem = toProviderProblem(error)
    // An error that is not of the request comes from parsing the keys.
    return problem ?? answerProblem('The provider’s keys are not JSON. Check the jwks_uri in its metadata.')
  }
}

interface ProviderKey {
  kty?: unknown
  crv?: unknown
  alg?: unknown
  use?: unknown
}

const parseKeys = (set: unknown): ProviderKey[] => {
  const keys = (set as { keys?: unknown } | null)?.keys
  return Array.isArray(keys) ? keys.filter((key) => key !== null && typeof key === 'object') : []
}

const keyTypeByAlgorithm: Record<string, { kty: string; crv?: string }> = {
  ES256: { kty: 'EC', crv: 'P-256' },
  RS256: { kty: 'RSA' },
  PS256: { kty: 'RSA' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
  Ed25519: { kty: 'OKP', crv: 'Ed25519' },
}

/**
 * Returns whether a key has the type that the algorithm needs. The fields `alg` and `use` of a key are optional (RFC
 * 7517).
 */
function canVerifyIdToken({ kty, crv, alg, use }: ProviderKey, algorithm: string): boolean {
  const needed = keyTypeByAlgorithm[algorithm]
  const hasNeededType = kty === needed?.kty && (needed?.crv === undefined || crv === needed.crv)
  const isForAlgorithm = alg === undefined || alg === algorithm
  const isForSignatures = use === undefined || use === 'sig'
  return hasNeededType && isForAlgorithm && isForSignatures
}

const answerProblem = (message: string) => new ProviderProblem('SSO_ANSWER_INVALID', message)
