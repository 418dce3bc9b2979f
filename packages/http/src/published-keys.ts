import { createLocalJWKSet, errors, type JSONWebKeySet } from 'jose'
import { problems } from './problem.ts'
import type { TokenKeys } from './token.ts'

interface KeyCacheOptions {
  /** Milliseconds after which the keys are fetched again. */
  every?: number
  /** Milliseconds that keys are believed while the identity service does not answer: as long as a token can live. */
  whileDown?: number
  /** Milliseconds between two tries: for a key id that is not known, and after one that failed. */
  rest?: number
}

interface FetchedKeySet {
  text: string
  find: ReturnType<typeof createLocalJWKSet>
}

const timeoutMs = 3_000

/**
 * The published keys of the identity service. Whoever asks is answered at once from a set that is younger than `every`, and
 * for as long again while the next is fetched; nobody is answered from one that is older, unless the identity service is
 * down. So a key that is withdrawn is good for twice `every` at most, and a service that starts anew loses nobody.
 * Throws 503 where there are no keys to be had.
 */
export function publishedKeys(
  identityUrl: string,
  { every = 30_000, whileDown = 15 * 60_000, rest = 10_000 }: KeyCacheOptions = {},
): TokenKeys {
  const address = `${identityUrl}/.well-known/jwks.json`
  let loaded: FetchedKeySet | undefined
  let at = -Infinity
  let lastAttempt = -Infinity
  let failed = false
  let loading: Promise<FetchedKeySet> | undefined

  const load = (): Promise<FetchedKeySet> => {
    const started = performance.now()
    lastAttempt = started
    loading ??= fetchKeySet(address, loaded)
      .then((set) => {
        at = started
        failed = false
        return (loaded = set)
      })
      .catch((error: unknown) => {
        failed = true
        throw problems.unavailable('identity service', error)
      })
      .finally(() => (loading = undefined))
    return loading
  }

  const current = async (): Promise<FetchedKeySet> => {
    const age = performance.now() - at
    if (!loaded || age > whileDown) return load()
    if (age <= every) return loaded
    const known = loaded
    // Once it is known to be down, nobody waits for it.
    if (age <= 2 * every || failed) {
      if (!failed || performance.now() - lastAttempt > Math.min(rest, every)) void load().catch(() => {})
      return known
    }
    return load().catch(() => known)
  }

  return {
    ring: current,
    async find(header, token) {
      const known = await current()
      try {
        return await known.find(header, token)
      } catch (error) {
        // It may be new. Tokens with made-up key ids must not make us ask all the time.
        if (!(error instanceof errors.JWKSNoMatchingKey) || performance.now() - lastAttempt < rest) throw error
        return (await load().catch(() => known)).find(header, token)
      }
    },
  }
}

/** The same object as before, as long as the keys are the same. */
async function fetchKeySet(address: string, before: FetchedKeySet | undefined): Promise<FetchedKeySet> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${address} answers ${answer.status}`)
  if (before?.text === text) return before
  return { text, find: createLocalJWKSet(JSON.parse(text) as JSONWebKeySet) }
}
