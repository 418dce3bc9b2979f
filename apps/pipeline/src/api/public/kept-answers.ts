/** Milliseconds that an answer is kept, and how many are. */
const lifetime = 30_000
const most = 200

interface Kept<T> {
  answer: Promise<T>
  until: number
}

/**
 * Answers that many ask for, asked once: whoever comes while it is being fetched waits for the same. A failure is not kept.
 * Whether somebody may have the answer is not asked here, but before.
 */
export function keptAnswers<T>(now: () => number = Date.now) {
  const known = new Map<string, Kept<T>>()

  return (key: string, fetch: () => Promise<T>): Promise<T> => {
    const kept = known.get(key)
    if (kept && kept.until > now()) return kept.answer
    const answer = fetch()
    known.delete(key)
    known.set(key, { answer, until: now() + lifetime })
    answer.catch(() => known.delete(key))
    if (known.size > most) known.delete(known.keys().next().value!)
    return answer
  }
}
