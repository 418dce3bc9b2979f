import type { Socket } from 'node:net'
import { problems } from '@sluice/http'

/** Runs work when its turn comes. */
type Queue = <T>(work: () => Promise<T>) => Promise<T>

/**
 * Work that waits for its turn, and ends with the connection of whoever asked. Once it is its turn it has `longest` milliseconds;
 * what it throws when they are over, `late` answers.
 */
export async function whileAsked<T>(
  { socket, queue, longest, late }: { socket: Socket; queue: Queue; longest: number; late: () => T },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const left = new AbortController()
  const leave = () => left.abort(problems.unreadableBody('Whoever asked has gone.'))
  socket.once('close', leave)
  if (socket.destroyed) leave()
  try {
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
    })
  } finally {
    // The connection lives on for other requests.
    socket.off('close', leave)
  }
}
