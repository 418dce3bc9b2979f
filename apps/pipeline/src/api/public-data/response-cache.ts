import type { Socket } from 'node:net'
import { connectionClosedProblem } from '../abort-on-disconnect.ts'

interface CachedResponse<T> {
  response: Promise<T>
  expiresAt: number
  /** The connections that wait for the response. When all of them are closed, the fetch is aborted. */
  callers: Set<Socket>
  /** Aborts the fetch. */
  fetchAbort: AbortController
}

interface CacheLimits {
  /**
   * Milliseconds for which a response is cached. With 0, only requests that arrive during a fetch share its response.
   */
  lifetimeMs: number
  /**
   * The maximum number of cached responses. Responses must be small, because anonymous callers can request any
   * number of different ones.
   */
  maxEntries: number
}

/** Milliseconds for which requests share a running fetch, even if the lifetime of its response is shorter. */
const minSharedMs = 30_000
/**
 * Returns a cache of responses by key. Requests that arrive during a fetch share its response. Failures are not cached.
 * The caller must check access rights first. If requests pass their connections, the fetch is aborted when all of them
 * are closed.
 */
export function createResponseCache<T>({ lifetimeMs, maxEntries }: CacheLimits, now: () => number = Date.now) {
  const cache = new Map<string, CachedResponse<T>>()

  const deleteExpired = () => {
    // All entries have the same lifetime, so the map is in the order of expiry.
    for (const [key, { expiresAt }] of cache) {
      if (expiresAt > now()) break
      cache.delete(key)
    }
  }

  const startFetch = (key: string, fetch: (signal: AbortSignal) => Promise<T>): CachedResponse<T> => {
    const fetchAbort = new AbortController()
    const response = fetch(fetchAbort.signal)
    const expiresAt = now() + Math.max(lifetimeMs, minSharedMs)
    const entry: CachedResponse<T> = { response, expiresAt, callers: new Set(), fetchAbort }
    cache.set(key, entry)
    const removeEntry = () => {
      if (cache.get(key) === entry) cache.delete(key)
    }
    const keepEntry = () => {}
    response.then(lifetimeMs > 0 ? keepEntry : removeEntry, removeEntry)
    if (cache.size > maxEntries) cache.delete(cache.keys().next().value!)
    return entry
  }

  return (key: string, fetch: (signal: AbortSignal) => Promise<T>, caller?: Socket): Promise<T> => {
    deleteExpired()
    const cached = cache.get(key)
    const isUsable = cached && !cached.fetchAbort.signal.aborted
    const entry = isUsable ? cached : startFetch(key, fetch)
    if (caller) watchCaller(entry, caller)
    return entry.response
  }
}

/** Aborts the fetch when the last connection that waits for it closes. */
function watchCaller<T>({ response, callers, fetchAbort }: CachedResponse<T>, caller: Socket): void {
  if (callers.has(caller)) return
  callers.add(caller)
  const onClose = () => {
    callers.delete(caller)
    if (callers.size === 0) fetchAbort.abort(connectionClosedProblem())
  }
  caller.once('close', onClose)
  if (caller.destroyed) onClose()
  const stopWatching = () => caller.off('close', onClose)
  response.then(stopWatching, stopWatching)
}
