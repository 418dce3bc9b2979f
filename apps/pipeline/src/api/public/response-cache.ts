import type { Socket } from 'node:net'
import { problems } from '@sluice/http'

interface CachedResponse<T> {
  answer: Promise<T>
  until: number
  /** Connections of those who wait for it, where it is dropped when all of them have gone. */
  callers: Set<Socket>
  dropped: AbortController
}

interface CacheLimits {
  /** Milliseconds that an answer is kept once it is there. 0: whoever comes while it is being fetched gets it, and nobody later. */
  lifetime: number
  /** How many are kept. What they hold has to be small: anybody may ask for another one. */
  most: number
}

/**
 * Answers that many ask for, asked once: whoever comes while it is being fetched waits for the same. A failure is not kept.
 * Whether somebody may have the answer is not asked here, but before. With connections, the fetch is aborted once all of them are closed.
 */
export function responseCache<T>({ lifetime, most }: CacheLimits, now: () => number = Date.now) {
  const known = new Map<string, CachedResponse<T>>()

  return (key: string, fetch: (signal: AbortSignal) => Promise<T>, caller?: Socket): Promise<T> => {
    for (const [old, { until }] of known) {
      if (until > now()) break
      known.delete(old)
    }
    const kept = known.get(key)
    if (kept && !kept.dropped.signal.aborted) {
      if (caller) watch(kept, caller)
      return kept.answer
    }
    const dropped = new AbortController()
    const answer = fetch(dropped.signal)
    const entry: CachedResponse<T> = { answer, until: now() + Math.max(lifetime, 30_000), callers: new Set(), dropped }
    if (caller) watch(entry, caller)
    known.set(key, entry)
    const forget = () => {
      if (known.get(key) === entry) known.delete(key)
    }
    answer.then(lifetime > 0 ? undefined : forget, forget)
    if (known.size > most) known.delete(known.keys().next().value!)
    return answer
  }
}

/** Drops the fetch once nobody waits for it any more. */
function watch<T>({ answer, callers, dropped }: CachedResponse<T>, caller: Socket): void {
  if (callers.has(caller)) return
  callers.add(caller)
  const leave = () => {
    callers.delete(caller)
    if (callers.size === 0) dropped.abort(problems.unreadableBody('The caller has gone.'))
  }
  caller.once('close', leave)
  if (caller.destroyed) leave()
  const forget = () => caller.off('close', leave)
  answer.then(forget, forget)
}
