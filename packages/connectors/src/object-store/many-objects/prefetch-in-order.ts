interface PrefetchOptions<T extends Disposable> {
  weights: readonly number[]
  /** The limits for items that are prepared before the consumer requests them. */
  maxAhead: { things: number; weight: number }
  load(index: number, signal: AbortSignal): Promise<T>
}

/** Prepares items in advance and yields them in order. Disposes prepared items that the consumer does not take. */
export async function* prefetchInOrder<T extends Disposable>(
  { weights, maxAhead, load }: PrefetchOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  const abandoned = new AbortController()
  const loadSignal = AbortSignal.any([signal, abandoned.signal])
  const ahead: Promise<T>[] = []
  let next = 0
  let weight = 0
  try {
    for (let index = 0; index < weights.length; index++) {
      while (next < weights.length && (next === index || fits(next))) {
        weight += weights[next]!
        const pending = load(next, loadSignal)
        // Prevents an unhandled rejection until the consumer requests the item and receives the error.
        pending.catch(() => {})
        ahead.push(pending)
        next += 1
      }
      const result = await ahead.shift()!
      weight -= weights[index]!
      yield result
    }
  } finally {
    abandoned.abort()
    for (const outcome of await Promise.allSettled(ahead))
      if (outcome.status === 'fulfilled') outcome.value[Symbol.dispose]()
  }

  function fits(index: number): boolean {
    return ahead.length < maxAhead.things && weight + weights[index]! <= maxAhead.weight
  }
}
