import type { Socket } from 'node:net'
import { problems } from '@sluice/http-server'

/** Runs `callback` when a semaphore's slot is free. `signal` ends the wait for the slot. */
type WorkQueue = <T>(callback: () => Promise<T>, signal: AbortSignal) => Promise<T>

interface ConnectedWork<T> {
  request: { stream: { socket: Socket } }
  queue: WorkQueue
  timeoutMs: number
  onTimeout(): T
}

/**
 * Runs `callback` in a slot of `queue`. Aborts it when the caller's connection closes, even while it waits for the slot, and after `timeoutMs`
 * in the slot; then `onTimeout` returns the result or throws.
 */
export async function whileConnected<T>(
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
    // The listener is removed, because later requests reuse the connection.
    socket.off('close', onClose)
  }
}
