import { Problem } from '@sluice/http'

/** Streams that may be open at once, of all clients together and of each one. More are told to come back: 503. */
export function countedStreams({ ofAll, ofClient }: { ofAll: number; ofClient: number }) {
  const open = new Map<string, number>()
  let all = 0

  return {
    take(client: string) {
      const theirs = open.get(client) ?? 0
      if (all >= ofAll || theirs >= ofClient) throw tooMany()
      all++
      open.set(client, theirs + 1)
      let left = false
      const leave = () => {
        if (left) return
        left = true
        all--
        const now = open.get(client)! - 1
        if (now > 0) open.set(client, now)
        else open.delete(client)
      }
      return {
        /** Passes a stream on, and gives the place back when it ends. */
        async *during<T>(stream: AsyncIterable<T>): AsyncGenerator<T, void, void> {
          try {
            yield* stream
          } finally {
            leave()
          }
        },
      }
    },
  }
}

const tooMany = () =>
  new Problem(503, 'busy', 'Too many streams are open.', {
    detail: 'Close those that nobody looks at, or try again in a few seconds.',
    headers: { 'Retry-After': '5' },
  })
