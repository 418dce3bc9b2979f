interface Making<T extends Disposable> {
  /** How much each weighs, in their order. */
  weights: readonly number[]
  /** What may be under way or waiting besides the one that is needed. */
  mostAhead: { things: number; weight: number }
  make(index: number, signal: AbortSignal): Promise<T>
}

/** Makes things ahead of whoever takes them, and hands them out in their order. What nobody took is disposed of. */
export async function* inOrder<T extends Disposable>(
  { weights, mostAhead, make }: Making<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void, void> {
  const left = new AbortController()
  const both = AbortSignal.any([signal, left.signal])
  const ahead: Promise<T>[] = []
  let next = 0
  let weight = 0
  try {
    for (let index = 0; index < weights.length; index++) {
      while (next < weights.length && (next === index || fits(next))) {
        weight += weights[next]!
        const made = make(next, both)
        // Whoever takes it hears of its failure; until then nobody does.
        made.catch(() => {})
        ahead.push(made)
        next += 1
      }
      const made = await ahead.shift()!
      weight -= weights[index]!
      yield made
    }
  } finally {
    left.abort()
    for (const one of await Promise.allSettled(ahead)) if (one.status === 'fulfilled') one.value[Symbol.dispose]()
  }

  function fits(index: number): boolean {
    return ahead.length < mostAhead.things && weight + weights[index]! <= mostAhead.weight
  }
}
