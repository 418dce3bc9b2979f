import type { Socket } from 'node:net'
import { problems } from '@sluice/http-server'

interface CachedResponse<T> {
  answer: Promise<T>
  until: number
  /** The connections that wait for the response. When all of them are closed, the fetch is aborted. */
  callers: Set<Socket>
  abandoned: AbortController
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
export function responseCache<T>({ lifetimeMs, maxEntries }: CacheLimits, now: () => number = Date.now) {
  const cache = new Map<string, CachedResponse<T>>()

  return (key: string, fetch: (signal: AbortSignal) => Promise<T>, caller?: Socket): Promise<T> => {
    // All entries have the same lifetime, so the map is in the order of expiry.
    for (const [cachedKey, { until }] of cache) {
      if (until > now()) break
      cache.delete(cachedKey)
    }
    const cached = cache.get(key)
    if (cached && !cached.abandoned.signal.aborted) {
      if (caller) watchCaller(cached, caller)
      return cached.answer
    }
    const abandoned = new AbortController()
    const answer = fetch(abandoned.signal)
    const entry: CachedResponse<T> = {
      answer,
      until: now() + Math.max(lifetimeMs, minSharedMs),
      callers: new Set(),
      abandoned,
    }
    if (caller) watchCaller(entry, caller)
    cache.set(key, entry)
    const forget = () => {
      if (cache.get(key) === entry) cache.delete(key)
    }
    answer.then(lifetimeMs > 0 ? undefined : forget, forget)
    if (cache.size > maxEntries) cache.delete(cache.keys().next().value!)
    return answer
  }
}

/** Aborts the fetch when the last connection that waits for it closes. */
function watchCaller<T>({ answer, callers, abandoned }: CachedResponse<T>, caller: Socket): void {
  if (callers.has(caller)) return
  callers.add(caller)
  const leave = () => {
    callers.delete(caller)
    if (callers.size === 0) abandoned.abort(problems.unreadableBody('The client closed the connection.'))
  }
  caller.once('close', leave)
  if (caller.destroyed) leave()
  const forget = () => caller.off('close', leave)
  answer.then(forget, forget)
}
