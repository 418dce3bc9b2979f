/**
 * Returns a function that runs at most one query per key at a time. Calls that arrive while a query is running share
 * the next query, which starts after them, so they never get an outdated result. They also share its failure.
 */
export function coalesceQueries<T>(query: (key: string) => Promise<T>): (key: string) => Promise<T> {
  /** The end of each running query, which never rejects. */
  const runningByKey = new Map<string, Promise<void>>()
  /** The result of each query that starts after the running one. */
  const nextByKey = new Map<string, Promise<T>>()

  const start = (key: string): Promise<T> => {
    const result = query(key)
    const removeFinished = () => {
      if (runningByKey.get(key) === finished) runningByKey.delete(key)
    }
    const finished = result.then(removeFinished, removeFinished)
    runningByKey.set(key, finished)
    return result
  }
  return (key) => {
    const running = runningByKey.get(key)
    if (!running) return start(key)
    const existingNext = nextByKey.get(key)
    if (existingNext) return existingNext
    const next = running.then(() => {
      nextByKey.delete(key)
      return start(key)
    })
    nextByKey.set(key, next)
    return next
  }
}
