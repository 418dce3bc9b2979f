/**
 * Returns a function that runs at most one query per key at a time. Calls that arrive while a query is running share
 * the next query, which starts after them, so they never get an outdated result. They also share its failure.
 */
export function coalesceQueries<T>(query: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const running = new Map<string, Promise<unknown>>()
  const waiting = new Map<string, Promise<T>>()

  const start = (key: string): Promise<T> => {
    const result = query(key)
    const removeFinished = () => {
      if (running.get(key) === finished) running.delete(key)
    }
    const finished = result.then(removeFinished, removeFinished)
    running.set(key, finished)
    return result
  }
  return (key) => {
    const current = running.get(key)
    if (!current) return start(key)
    const shared = waiting.get(key)
    if (shared) return shared
    const next = current.then(() => {
      waiting.delete(key)
      return start(key)
    })
    waiting.set(key, next)
    return next
  }
}
