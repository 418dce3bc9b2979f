import { setTimeout } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { RemoteProblem, ServiceUnavailable } from './errors.ts'

export interface CacheLimits {
  /** Milliseconds that a found value is fresh, counted from the start of its read. */
  ttl: number
  /** Milliseconds that a missing value is fresh; at most 1,000 when absent. */
  missingTtl?: number
  /** Milliseconds past `ttl` in which a found value is still returned while the service is unavailable; 0 when absent. */
  staleFor?: number
  /** Maximum number of cached values. */
  max: number
}

interface LookupOptions<V> extends CacheLimits {
  /**
   * Whether a value may be cached; all values when absent. A value that may not be cached is read for every `get` that
   * arrives, is never shared with a `get` that arrives after its read started, and is never replaced by an older value.
   */
  mayRemember?: (value: V) => boolean
}

/** A read-through cache by key. Throws the error of a read if no cached value can replace its result. */
export interface LookupCache<V> {
  /** Returns undefined if the value does not exist. */
  get(key: string): Promise<V | undefined>
  /** Returns the existing values. Keys that are neither cached nor being read are read together. */
  getMany(keys: Iterable<string>): Promise<Map<string, V>>
  /** Removes a value; the next `get` reads it again. */
  forget(key: string): void
  clear(): void
}

/** Milliseconds to wait for a new value before the stale value is returned. */
const staleWaitMs = 300

interface CacheEntry<V> {
  value: V | undefined
  /** Start of the read, on the monotonic clock. */
  requestedAt: number
}

/** Returns a read-through cache of single reads. Concurrent callers of a key share one read. */
export function createLookupCache<V>(
  read: (key: string) => Promise<V | undefined>,
  manner: LookupOptions<V>,
): LookupCache<V> {
  return lookUp((keys) => keys.map((key) => read(key)), manner)
}

/**
 * Returns a read-through cache of batched reads with at most `atOnce` keys. A key that is not in the result of a read does not exist.
 */
export function createBatchedLookupCache<V>(
  readMany: (keys: string[]) => Promise<ReadonlyMap<string, V>>,
  { atOnce = 1000, ...manner }: LookupOptions<V> & { atOnce?: number },
): LookupCache<V> {
  return lookUp((keys) => {
    const answers: Promise<V | undefined>[] = []
    for (let start = 0; start < keys.length; start += atOnce) {
      const batch = keys.slice(start, start + atOnce)
      const answer = readMany(batch)
      answers.push(...batch.map(async (key) => (await answer).get(key)))
    }
    return answers
  }, manner)
}

/** Returns the response, or undefined if the service returns 404. */
export async function orAbsent<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof RemoteProblem && error.status === 404) return undefined
    throw error
  }
}

/** `begin` starts the read of keys and returns one promise for each key, in order. */
function lookUp<V>(begin: (keys: string[]) => Promise<V | undefined>[], options: LookupOptions<V>): LookupCache<V> {
  const { ttl, missingTtl = Math.min(ttl, 1_000), staleFor = 0, max, mayRemember = () => true } = options
  const remembered = new LRUCache<string, CacheEntry<V>>({ max })
  const underWay = new Map<string, PendingRead<V>>()

  const ageOf = ({ requestedAt }: CacheEntry<V>) => performance.now() - requestedAt
  const isFresh = (entry: CacheEntry<V>) => ageOf(entry) < (entry.value === undefined ? missingTtl : ttl)

  /** Returns the stale value if the service is unavailable; rethrows all other errors. */
  async function outcomeOf(key: string, answer: Promise<V | undefined>, entry: CacheEntry<V>, flight: PendingRead<V>) {
    try {
      entry.value = await answer
      if (entry.value !== undefined && !mayRemember(entry.value)) remembered.delete(key)
      // Not cached if the key was removed during the read, because the value may be outdated.
      else if (underWay.get(key) === flight) remembered.set(key, entry)
      return entry.value
    } catch (error) {
      const old = remembered.peek(key)
      if (error instanceof ServiceUnavailable && old?.value !== undefined && ageOf(old) < ttl + staleFor)
        return old.value
      throw error
    } finally {
      if (underWay.get(key) === flight) underWay.delete(key)
    }
  }

  function start(keys: string[]): void {
    const requestedAt = performance.now()
    begin(keys).forEach((answer, index) => {
      const key = keys[index] as string
      const flight: PendingRead<V> = { requestedAt }
      underWay.set(key, flight)
      flight.outcome = outcomeOf(key, answer, { value: undefined, requestedAt }, flight)
    })
  }

  async function getMany(keys: Iterable<string>): Promise<Map<string, V>> {
    const arrived = performance.now()
    const wanted = [...new Set(keys)]
    const fresh = new Map<string, V | undefined>()
    for (const key of wanted) {
      const entry = remembered.get(key)
      if (entry && isFresh(entry)) fresh.set(key, entry.value)
    }
    const missing = wanted.filter((key) => !fresh.has(key))
    const unread = missing.filter((key) => !underWay.has(key))
    if (unread.length > 0) start(unread)
    const outcomes = await Promise.all(missing.map((key) => outcomeFor(key, arrived)))
    missing.forEach((key, index) => fresh.set(key, outcomes[index]))
    return new Map(wanted.flatMap((key) => present(key, fresh.get(key))))
  }

  /** Returns the result of the pending read, or of a newer read if the pending one started before the request arrived. */
  async function outcomeFor(key: string, arrived: number): Promise<V | undefined> {
    const flight = underWay.get(key)
    const value = await orStale(key, flight?.outcome)
    if (!flight || flight.requestedAt >= arrived || value === undefined || mayRemember(value)) return value
    const newer = underWay.get(key)
    if (!newer || newer.requestedAt < arrived) start([key])
    return underWay.get(key)?.outcome
  }

  /** Returns the stale value after a short wait, so that a hanging service does not delay callers. */
  async function orStale(key: string, outcome: Promise<V | undefined> | undefined): Promise<V | undefined> {
    const old = remembered.peek(key)
    if (old?.value === undefined || ageOf(old) >= ttl + staleFor) return outcome
    outcome?.catch(() => {})
    return Promise.race([outcome, setTimeout(staleWaitMs, old.value, { ref: false })])
  }

  return {
    get: async (key) => (await getMany([key])).get(key),
    getMany,
    forget(key) {
      remembered.delete(key)
      underWay.delete(key)
    },
    clear() {
      remembered.clear()
      underWay.clear()
    },
  }
}

/** A pending read, shared by its callers. */
interface PendingRead<V> {
  /** Start of the read, on the monotonic clock. */
  requestedAt: number
  outcome?: Promise<V | undefined>
}

const present = <V>(key: string, value: V | undefined): [string, V][] => (value === undefined ? [] : [[key, value]])
