import { createLocalJWKSet, errors, type JSONWebKeySet } from 'jose'
import { problems } from './problem.ts'
import type { TokenKeys } from './token-verifier.ts'

interface KeyCacheOptions {
  /** Milliseconds after which the keys are fetched again. */
  refreshMs?: number
  /** Milliseconds for which keys stay usable while the identity service is down: the lifetime of a token. */
  usableWhileDownMs?: number
  /** Minimum milliseconds between two fetches because of an unknown key id, and after a failed fetch. */
  retryMs?: number
}

interface FetchedKeySet {
  text: string
  find: ReturnType<typeof createLocalJWKSet>
}

const timeoutMs = 3_000

/**
 * Returns a cache of the identity service's published keys. Keys younger than `refreshMs` are used directly. Keys up to
 * twice as old are used while the next set is fetched. Older keys are used only while the identity service is down. So
 * a withdrawn key is accepted for at most twice `refreshMs`. Throws 503 if no keys are available.
 */
export function publishedKeys(
  identityUrl: string,
  { refreshMs = 30_000, usableWhileDownMs = 15 * 60_000, retryMs = 10_000 }: KeyCacheOptions = {},
): TokenKeys {
  const address = `${identityUrl}/.well-known/jwks.json`
  let loaded: FetchedKeySet | undefined
  let loadedAt = -Infinity
  let lastAttempt = -Infinity
  let failed = false
  let loading: Promise<FetchedKeySet> | undefined

  const load = (): Promise<FetchedKeySet> => {
    const started = performance.now()
    lastAttempt = started
    loading ??= fetchKeySet(address, loaded)
      .then((set) => {
        loaded = set
        loadedAt = started
        failed = false
        return set
      })
      .catch((error: unknown) => {
        failed = true
        throw problems.unavailable('identity service', error)
      })
      .finally(() => {
        loading = undefined
      })
    return loading
  }
  const loadInBackground = () => void load().catch(() => {})

  const current = async (): Promise<FetchedKeySet> => {
    const age = performance.now() - loadedAt
    if (!loaded || age > usableWhileDownMs) return load()
    if (age <= refreshMs) return loaded
    const cached = loaded
    if (failed) {
      // Callers do not wait for a service that is known to be down.
      const isRetryDue = performance.now() - lastAttempt > Math.min(retryMs, refreshMs)
      if (isRetryDue) loadInBackground()
      return cached
    }
    if (age > 2 * refreshMs) return load().catch(() => cached)
    loadInBackground()
    return cached
  }

  return {
    ring: current,
    async find(header, token) {
      const keySet = await current()
      try {
        return await keySet.find(header, token)
      } catch (error) {
        // An unknown key may be new. But tokens with invented key ids must not cause a fetch each time.
        const isUnknownKey = error instanceof errors.JWKSNoMatchingKey
        const mayRetry = performance.now() - lastAttempt >= retryMs
        if (!isUnknownKey || !mayRetry) throw error
        const newKeySet = await load().catch(() => keySet)
        return await newKeySet.find(header, token)
      }
    },
  }
}

/** Fetches the keys. Returns the previous object if they are unchanged. */
async function fetchKeySet(address: string, before: FetchedKeySet | undefined): Promise<FetchedKeySet> {
  const response = await fetch(address, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' })
  const text = await response.text()
  if (!response.ok) throw new Error(`${address} answers ${response.status}`)
  if (before?.text === text) return before
  return { text, find: createLocalJWKSet(JSON.parse(text) as JSONWebKeySet) }
}
