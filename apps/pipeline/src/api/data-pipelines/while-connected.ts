import type { Socket } from 'node:net'
import { problems } from '@sluice/http'

/** Runs work when there is a slot for it; the signal ends the waiting. */
type WorkQueue = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>

/**
 * Runs work in a slot of `queue`, and drops it, waiting or under way, when the connection of the caller ends. Once it has its slot it
 * has `longest` milliseconds; `late` answers what it throws when they are over.
 */
export async function whileConnected<T>(
  { socket, queue, longest, late }: { socket: Socket; queue: WorkQueue; longest: number; late: () => T },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const left = new AbortController()
  const leave = () => left.abort(problems.unreadableBody('The caller has gone.'))
  socket.once('close', leave)
  if (socket.destroyed) leave()
  try {
    left.signal.throwIfAborted()
    return await queue(async () => {
      left.signal.throwIfAborted()
      const over = AbortSignal.timeout(longest)
      try {
        return await work(AbortSignal.any([left.signal, over]))
      } catch (error) {
        left.signal.throwIfAborted()
        if (!over.aborted) throw error
        return late()
      }
    }, left.signal)
  } finally {
    // The connection lives on for other requests.
    socket.off('close', leave)
  }
}
