import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { ServiceUnavailable } from '@sluice/client'

interface LookupCacheOptions<V> {
  /** Milliseconds for which a found value is fresh, from the start of its read. */
  ttl: number
  /** Milliseconds after `ttl` for which a found value is still returned while the service is unavailable. */
  staleFor?: number
  /** Maximum number of cached values. */
  max: number
  /** Whether a value may be cached. Other values are read at each call. Default: every value may be cached. */
  isCacheable?: (value: V) => boolean
}

interface CacheEntry<V> {
  value: V | undefined
  /** Start of the read, on the monotonic clock. */
  readAt: number
  cacheable: boolean
}

/** Lifetime of a token in milliseconds. While the identity service is down, signed-in users can work until their token expires. */
const tokenLifetimeMs = 5 * 60_000
/** Milliseconds for which a missing value is cached. */
const missingTtlMs = 1_000
/** Milliseconds to wait for a new value before the stale value is returned, so that a hanging service does not delay callers. */
const staleWaitMs = 300
/** Milliseconds between two reads of a value while the service is unavailable. */
const retryMs = 1_000

/**
 * Returns a function that looks up a value by its key; undefined if it does not exist. Concurrent callers of a key share one read.
 * Throws the error of a read unless the service is unavailable and an older value can replace the result.
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
    // If an entry is evicted during its read, its callers still get the value.
    ignoreFetchAbort: true,
    async fetchMethod(key, staleEntry, { options }) {
      try {
        const entry = await readEntry(key)
        const freshMs = entry.value === undefined ? Math.min(ttl, missingTtlMs) : ttl
        // The library treats a lifetime of 0 as unlimited.
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

  /** Whether an entry, even a stale one, may be returned while the service is unavailable. */
  const isUsable = (entry: CacheEntry<V> | undefined): entry is CacheEntry<V> =>
    entry?.value !== undefined && entry.cacheable && computeAge(entry) < ttl + staleFor

  return async (key) => {
    const calledAt = performance.now()
    const cachedEntry = cache.peek(key, { allowStale: true })
    const fetched = cache.fetch(key)
    const entry = isUsable(cachedEntry)
      ? await Promise.race([fetched, setTimeout(staleWaitMs, cachedEntry, { ref: false })])
      : await fetched
    // An uncacheable value is returned only by a read that started after the call.
    if (entry && (entry.cacheable || entry.readAt >= calledAt)) return entry.value
    return read(key)
  }
}

const computeAge = ({ readAt }: { readAt: number }): number => performance.now() - readAt

/**
 * Returns a function that reads one value and shares its request with all calls of the same tick. A key that is missing in the
 * result of `readMany` does not exist.
 */
export function batchLookups<V>(readMany: (keys: string[]) => Promise<ReadonlyMap<string, V>>) {
  let keys: string[] = []
  let values: Promise<ReadonlyMap<string, V>> | undefined
  return async (key: string): Promise<V | undefined> => {
    keys.push(key)
    values ??= Promise.resolve().then(() => {
      const batch = keys
      keys = []
      values = undefined
      return readMany(batch)
    })
    return (await values).get(key)
  }
}
