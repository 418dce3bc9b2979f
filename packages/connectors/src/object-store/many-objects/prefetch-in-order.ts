interface PrefetchOptions<T extends Disposable> {
  /** The weight of each item, such as its bytes. */
  weights: readonly number[]
  /** The limits for items that are prepared before the consumer requests them: their number and their total weight. */
  maxAhead: { items: number; weight: number }
  load(index: number, signal: AbortSignal): Promise<T>
}

/** Prepares items in advance and yields them in order. Disposes prepared items that the consumer does not take. */
export async function* prefetchInOrder<T extends Disposable>(
  { weights, maxAhead, load }: PrefetchOptions<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  const endController = new AbortController()
  const loadSignal = AbortSignal.any([signal, endController.signal])
  const pendingItems: Promise<T>[] = []
  let indexToLoad = 0
  let pendingWeight = 0
  try {
    for (const [requestedIndex, weight] of weights.entries()) {
      // The requested item is loaded even if it exceeds the limits.
      if (indexToLoad === requestedIndex) startLoading()
      while (indexToLoad < weights.length && fitsLimits(indexToLoad)) startLoading()
      const item = await pendingItems.shift()!
      pendingWeight -= weight
      yield item
    }
  } finally {
    endController.abort()
    for (const outcome of await Promise.allSettled(pendingItems))
      if (outcome.status === 'fulfilled') outcome.value[Symbol.dispose]()
  }

  function startLoading(): void {
    const pendingItem = load(indexToLoad, loadSignal)
    // Prevents an unhandled rejection until the consumer requests the item and receives the error.
    pendingItem.catch(() => {})
    pendingItems.push(pendingItem)
    pendingWeight += weights[indexToLoad]!
    indexToLoad += 1
  }

  function fitsLimits(index: number): boolean {
    return pendingItems.length < maxAhead.items && pendingWeight + weights[index]! <= maxAhead.weight
  }
}
