import type { Socket } from 'node:net'
import { problems } from '@sluice/http-server'

/** Runs work when a slot is free. The signal ends the wait. */
type WorkQueue = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>

/**
 * Runs work in a slot of `queue`, and aborts it when the connection of the caller closes, even while it waits. Work may take `longest`
 * milliseconds in its slot; then `late` returns or throws the result.
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
    // Later requests reuse the connection.
    socket.off('close', leave)
  }
}
