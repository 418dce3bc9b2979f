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

const believed = 3_600_000
/** Metadata of so many providers is kept; the oldest goes first. */
const kept = 1000

export function federation(outgoing: GuardedFetch): Federation {
  const known = new Map<string, { at: number; found: Promise<ServerMetadata> }>()

  const ask = (issuer: URL): Promise<ServerMetadata> => {
    const found = discover(issuer, outgoing)
    known.delete(issuer.href)
    known.set(issuer.href, { at: Date.now(), found })
    found.catch(() => known.delete(issuer.href))
    const [oldest] = known.keys()
    if (known.size > kept && oldest !== undefined) known.delete(oldest)
    return found
  }

  return {
    outgoing,
    metadata(issuer) {
      const there = known.get(issuer.href)
      return there && Date.now() - there.at < believed ? there.found : ask(issuer)
    },
    forget: (issuer) => void known.delete(issuer.href),
  }
}

/** The answers of providers are small, and people wait for them. */
export const outgoingLimits = { timeLimit: 5_000, maxBytes: 65_536 }
