/**
 * Runs one query per key at a time. Calls that arrive while a query is running share the next one. The shared query starts
 * after these calls, so they never get an outdated result. Failures are shared too.
 */
export function coalesceQueries<T>(query: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const running = new Map<string, Promise<unknown>>()
  const waiting = new Map<string, Promise<T>>()

  const start = (key: string): Promise<T> => {
    const answer = query(key)
    const over = () => {
      if (running.get(key) === tracked) running.delete(key)
    }
    const tracked = answer.then(over, over)
    running.set(key, tracked)
    return answer
  }
  return (key) => {
    const before = running.get(key)
    if (!before) return start(key)
    const known = waiting.get(key)
    if (known) return known
    const next = before.then(() => {
      waiting.delete(key)
      return start(key)
    })
    waiting.set(key, next)
    return next
  }
}
