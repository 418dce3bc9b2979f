import type { Client } from 'pg'

/**
 * Reads as a reader does, one query after the other, while something goes on. Answers the longest that a query took, in
 * milliseconds, and how many there were.
 */
export async function longestWait(
  reader: Pick<Client, 'query'>,
  query: string,
  meanwhile: () => Promise<unknown>,
): Promise<{ milliseconds: number; queries: number }> {
  const going = { on: true }
  let [milliseconds, queries] = [0, 0]
  const done = meanwhile().finally(() => {
    going.on = false
  })
  // A failure is thrown at the end; until then its promise has no handler.
  done.catch(() => {})
  while (going.on) {
    const start = performance.now()
    await reader.query(query)
    milliseconds = Math.max(milliseconds, performance.now() - start)
    queries += 1
  }
  await done
  return { milliseconds, queries }
}
