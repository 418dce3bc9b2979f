import type { ServerMetadata } from 'openid-client'
import type { GuardedFetch } from '@sluice/http'
import { discover } from './relying-party.ts'

/** What is needed to ask other people's providers. */
export interface Federation {
  outgoing: GuardedFetch
  /** What a provider says of itself, not older than an hour. Throws `ProviderProblem`. */
  metadata(issuer: URL): Promise<ServerMetadata>
  /** Asks anew next time: something that the metadata led to did not work. */
  forget(issuer: URL): void
}

/** Milliseconds. A provider that fails is left alone for a moment, so that it holds up few and nobody has us hammer it. */
const cacheMs = { found: 3_600_000, failed: 5_000 }
/** Metadata of so many providers is kept; the oldest goes first. */
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

/** The answers of providers are small, and people wait for them. */
export const outgoingLimits = { timeLimit: 5_000, maxBytes: 65_536 }
