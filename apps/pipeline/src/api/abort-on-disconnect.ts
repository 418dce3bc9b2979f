import type { Socket } from 'node:net'
import { problems } from '@sluice/http-server'

/** Runs `callback` when a slot of a semaphore is free. Aborting `signal` ends the wait for the slot. */
type WorkQueue = <T>(callback: () => Promise<T>, signal: AbortSignal) => Promise<T>

interface ConnectedWork<T> {
  request: { stream: { socket: Socket } }
  queue: WorkQueue
  timeoutMs: number
  onTimeout(): T
}

/**
 * Runs `callback` in a slot of `queue`. Aborts it when the caller's connection closes, also while it waits for the
 * slot. If it takes longer than `timeoutMs` in the slot, aborts it and calls `onTimeout`, which returns the result or
 * throws.
 */
export async function runWhileConnected<T>(
  { request, queue, timeoutMs, onTimeout }: ConnectedWork<T>,
  callback: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { socket } = request.stream
  const disconnected = new AbortController()
  const onClose = () => disconnected.abort(problems.unreadableBody('The client closed the connection.'))
  socket.once('close', onClose)
  if (socket.destroyed) onClose()
  try {
    disconnected.signal.throwIfAborted()
    return await queue(async () => {
      // The client may have disconnected while the request waited for the slot.
      disconnected.signal.throwIfAborted()
      const timeout = AbortSignal.timeout(timeoutMs)
      try {
        return await callback(AbortSignal.any([disconnected.signal, timeout]))
      } catch (error) {
        disconnected.signal.throwIfAborted()
        if (!timeout.aborted) throw error
        return onTimeout()
      }
    }, disconnected.signal)
  } finally {
    // Remove the listener, because later requests reuse the connection.
    socket.off('close', onClose)
  }
}
