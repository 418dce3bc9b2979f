import type { ServerMetadata } from 'openid-client'
import type { GuardedFetch } from '@sluice/http-client'
import { discover } from './relying-party.ts'

/** Access to SSO providers. */
export interface Federation {
  outgoing: GuardedFetch
  /** Returns provider metadata, at most an hour old. Throws `ProviderProblem`. */
  metadata(issuer: URL): Promise<ServerMetadata>
  /** Drops cached metadata after an endpoint failed. */
  forget(issuer: URL): void
}

/** Cache times in milliseconds. Failures are cached briefly, to limit requests to a failing provider. */
const cacheMs = { found: 3_600_000, failed: 5_000 }
/** The maximum number of cached providers. The cache evicts the oldest first. */
const maxCached = 1000

export function federation(outgoing: GuardedFetch): Federation {
  const known = new Map<string, { until: number; found: Promise<ServerMetadata> }>()

  const ask = (issuer: URL): Promise<ServerMetadata> => {
    const found = discover(issuer, outgoing)
    known.delete(issuer.href)
    const entry = { until: Date.now() + cacheMs.found, found }
    known.set(issuer.href, entry)
    found.catch(() => (entry.until = Date.now() + cacheMs.failed))
    const [oldest] = known.keys()
    if (known.size > maxCached && oldest !== undefined) known.delete(oldest)
    return found
  }

  return {
    outgoing,
    metadata(issuer) {
      const there = known.get(issuer.href)
      return there && Date.now() < there.until ? there.found : ask(issuer)
    },
    forget: (issuer) => void known.delete(issuer.href),
  }
}

/** Limits of provider requests in milliseconds and bytes. Responses are small, and users wait for them. */
export const outgoingLimits = { timeLimit: 5_000, maxBytes: 65_536 }
