import type { ServerMetadata } from 'openid-client'
import type { Federation } from './federation.ts'
import { ProviderProblem, providerProblem } from './provider-problem.ts'
import { algorithmsOf } from './relying-party.ts'

/** What keeps the keys of a provider from being used, if anything does. */
export async function keysFault(
  metadata: ServerMetadata,
  { outgoing }: Federation,
): Promise<ProviderProblem | undefined> {
  try {
    const response = await outgoing.fetch(metadata.jwks_uri!, { headers: { accept: 'application/json' } })
    if (response.status !== 200) return invalid(`The provider’s keys are not there: status ${response.status}.`)
    const keys = keysOf(await response.json())
    const usable = algorithmsOf(metadata).some((algorithm) => keys.some((key) => canVerify(key, algorithm)))
    return usable ? undefined : invalid('None of the provider’s published keys can be used to check an ID token.')
  } catch (error) {
    return providerProblem(error) ?? invalid('What the provider publishes as its keys is not JSON.')
  }
}

interface Key {
  kty?: unknown
  crv?: unknown
  alg?: unknown
  use?: unknown
}

const keysOf = (set: unknown): Key[] => {
  const keys = (set as { keys?: unknown } | null)?.keys
  return Array.isArray(keys) ? keys.filter((key) => key !== null && typeof key === 'object') : []
}

const kinds: Record<string, { kty: string; crv?: string }> = {
  ES256: { kty: 'EC', crv: 'P-256' },
  RS256: { kty: 'RSA' },
  PS256: { kty: 'RSA' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
  Ed25519: { kty: 'OKP', crv: 'Ed25519' },
}

function canVerify({ kty, crv, alg, use }: Key, algorithm: string): boolean {
  const kind = kinds[algorithm]
  return (
    kty === kind?.kty &&
    (kind?.crv === undefined || crv === kind.crv) &&
    (alg === undefined || alg === algorithm) &&
    (use === undefined || use === 'sig')
  )
}

const invalid = (message: string) => new ProviderProblem('SSO_ANSWER_INVALID', message)
