import { Problem, isCallerUnchanged } from '@sluice/http-server'
import type { RequestContext } from '../operation-context.ts'

/** Milliseconds between two checks whether the caller of a stream still has the required rights. */
export const accessCheckIntervalMs = 5_000
/** The maximum duration of a stream in milliseconds. The caller then reconnects and is authenticated again. */
export const maxStreamMs = 60 * 60_000

/** Limits the open event streams of one kind. */
export interface StreamLimit {
  /** Takes a slot for a stream of the organisation. Throws 503 if all slots are taken. */
  acquire(client: string): StreamSlot
}

export interface StreamSlot {
  /** Yields the events of a stream. Releases the slot when the stream ends. */
  releaseAfter<T>(stream: AsyncIterable<T>): AsyncGenerator<T, void, void>
}

/**
 * Returns a limit of the number of open streams, in total and per organisation. `acquire` throws 503 if the limit is
 * reached. `releaseAfter` yields a stream and frees its slot when the stream ends.
 */
export function limitStreams({ total, perClient }: { total: number; perClient: number }): StreamLimit {
  const openByClient = new Map<string, number>()
  let openStreams = 0
  const countOf = (client: string) => openByClient.get(client) ?? 0
  return {
    acquire(client) {
      if (openStreams >= total || countOf(client) >= perClient) throw tooManyStreams()
      openStreams += 1
      openByClient.set(client, countOf(client) + 1)
      let isReleased = false
      const release = () => {
        if (isReleased) return
        isReleased = true
        openStreams -= 1
        const remaining = countOf(client) - 1
        if (remaining > 0) openByClient.set(client, remaining)
        else openByClient.delete(client)
      }
      return {
        async *releaseAfter(stream) {
          try {
            yield* stream
          } finally {
            release()
          }
        },
      }
    },
  }
}

const tooManyStreams = () =>
  new Problem(503, 'busy', 'Too many streams are open.', {
    detail: 'Close unused streams, or try again in a few seconds.',
    headers: { 'Retry-After': '5' },
  })

/** Returns whether the caller of a stream is still signed in, with the same roles and groups. */
export async function hasKeptRights({
  caller,
  identity,
}: Pick<RequestContext, 'caller' | 'identity'>): Promise<boolean> {
  const principal = caller.presented && (await identity.findPrincipal(caller.presented.credential))
  if (!principal?.client.pipelinesEnabled || !isCallerUnchanged(caller, principal)) return false
  return caller.userGroups.every((group) => principal.userGroups.includes(group))
}
