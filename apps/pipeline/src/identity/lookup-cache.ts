import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { ServiceUnavailable } from '@sluice/client'

interface LookupCacheOptions<V> {
  /** Milliseconds for which a value that exists is fresh, counted from the start of its read. */
  ttl: number
  /** Milliseconds after `ttl` for which a value is still returned while the service is unavailable. */
  staleFor?: number
  /** The maximum number of cached values. */
  max: number
  /** Returns whether a value may be cached; other values are read at each call. Default: every value may be cached. */
  isCacheable?: (value: V) => boolean
}

interface CacheEntry<V> {
  value: V | undefined
  /** The start of the read, from `performance.now()`. */
  readAt: number
  cacheable: boolean
}

/**
 * The lifetime of an access token in milliseconds. While the identity service is down, signed-in users can work until
 * their token expires.
 */
const tokenLifetimeMs = 5 * 60_000
/** Milliseconds for which the absence of a value is cached. */
const missingTtlMs = 1_000
/**
 * Milliseconds to wait for a new value before a stale value is returned, so that a hanging service does not delay
 * callers.
 */
const staleWaitMs = 300
/** Milliseconds between two attempts to read a value while the service is unavailable. */
const retryMs = 1_000

/**
 * Returns a function that returns the value of a key, or undefined if it does not exist. Concurrent calls for the same
 * key share one read. Throws the error of the read, unless the service is unavailable and an older value can be
 * returned instead.
 */
export function lookupCache<V>(
  read: (key: string) => Promise<V | undefined>,
  { ttl, staleFor = tokenLifetimeMs, max, isCacheable = () => true }: LookupCacheOptions<V>,
): (key: string) => Promise<V | undefined> {
  const cache = new LRUCache<string, CacheEntry<V>>({
    max,
    ttl,
    noDeleteOnStaleGet: true,
    noDeleteOnFetchRejection: true,
    // If an entry is evicted while it is read, the waiting callers still get its value.
    ignoreFetchAbort: true,
    async fetchMethod(key, staleEntry, { options }) {
      try {
        const entry = await readEntry(key)
        const freshMs = entry.value === undefined ? Math.min(ttl, missingTtlMs) : ttl
        // Use at least 1, because the library treats a lifetime of 0 as unlimited.
        options.ttl = Math.max(1, entry.cacheable ? freshMs - computeAge(entry) : 0)
        return entry
      } catch (error) {
        if (!(error instanceof ServiceUnavailable) || !isUsable(staleEntry)) throw error
        options.ttl = retryMs
        return staleEntry
      }
    },
  })

  async function readEntry(key: string): Promise<CacheEntry<V>> {
    const readAt = performance.now()
    const value = await read(key)
    return { value, readAt, cacheable: value === undefined || isCacheable(value) }
  }

  /** Returns whether an entry, possibly stale, may be returned while the service is unavailable. */
  const isUsable = (entry: CacheEntry<V> | undefined): entry is CacheEntry<V> =>
    entry?.value !== undefined && entry.cacheable && computeAge(entry) < ttl + staleFor

  return async (key) => {
    const calledAt = performance.now()
    const cachedEntry = cache.peek(key, { allowStale: true })
    const fetched = cache.fetch(key)
    const entry = isUsable(cachedEntry)
      ? await Promise.race([fetched, setTimeout(staleWaitMs, cachedEntry, { ref: false })])
      : await fetched
    // Return an uncacheable value only if its read started after this call.
    if (entry && (entry.cacheable || entry.readAt >= calledAt)) return entry.value
    return read(key)
  }
}

const computeAge = ({ readAt }: { readAt: number }): number => performance.now() - readAt

/**
 * Returns a function that reads one value. All calls in the same tick share one call of `readMany`. It returns
 * undefined for a key that is missing in the result of `readMany`.
 */
export function batchLookups<V>(readMany: (keys: string[]) => Promise<ReadonlyMap<string, V>>) {
  let keys: string[] = []
  let nextBatch: Promise<ReadonlyMap<string, V>> | undefined
  return async (key: string): Promise<V | undefined> => {
    keys.push(key)
    nextBatch ??= Promise.resolve().then(() => {
      const batch = keys
      keys = []
      nextBatch = undefined
      return readMany(batch)
    })
    const values = await nextBatch
    return values.get(key)
  }
}
