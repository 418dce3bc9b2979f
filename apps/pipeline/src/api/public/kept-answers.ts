interface Kept<T> {
  answer: Promise<T>
  until: number
}

interface Limits {
  /** Milliseconds that an answer is kept once it is there. 0: whoever comes while it is being fetched gets it, and nobody later. */
  lifetime: number
  /** How many are kept. What they hold has to be small: anybody may ask for another one. */
  most: number
}

/**
 * Answers that many ask for, asked once: whoever comes while it is being fetched waits for the same. A failure is not kept.
 * Whether somebody may have the answer is not asked here, but before.
 */
export function keptAnswers<T>({ lifetime, most }: Limits, now: () => number = Date.now) {
  const known = new Map<string, Kept<T>>()

  return (key: string, fetch: () => Promise<T>): Promise<T> => {
    for (const [old, { until }] of known) {
      if (until > now()) break
      known.delete(old)
    }
    const kept = known.get(key)
    if (kept) return kept.answer
    const answer = fetch()
    const entry = { answer, until: now() + Math.max(lifetime, 30_000) }
    known.set(key, entry)
    const forget = () => {
      if (known.get(key) === entry) known.delete(key)
    }
    answer.then(lifetime > 0 ? undefined : forget, forget)
    if (known.size > most) known.delete(known.keys().next().value!)
    return answer
  }
}
