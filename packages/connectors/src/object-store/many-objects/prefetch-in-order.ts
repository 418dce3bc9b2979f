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
  const pendingItems: Promise<T>[] = []
  let nextIndex = 0
  let pendingWeight = 0
  try {
    for (let index = 0; index < weights.length; index++) {
      while (nextIndex < weights.length && (nextIndex === index || fitsLimits(nextIndex))) {
        pendingWeight += weights[nextIndex]!
        const pendingItem = load(nextIndex, loadSignal)
        // Prevents an unhandled rejection until the consumer requests the item and receives the error.
        pendingItem.catch(() => {})
        pendingItems.push(pendingItem)
        nextIndex += 1
      }
      const result = await pendingItems.shift()!
      pendingWeight -= weights[index]!
      yield result
    }
  } finally {
    abandoned.abort()
    for (const outcome of await Promise.allSettled(pendingItems))
      if (outcome.status === 'fulfilled') outcome.value[Symbol.dispose]()
  }

  function fitsLimits(index: number): boolean {
    return pendingItems.length < maxAhead.things && pendingWeight + weights[index]! <= maxAhead.weight
  }
}
