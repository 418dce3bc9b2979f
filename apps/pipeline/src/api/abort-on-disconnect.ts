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

/** Returns a signal that aborts when a connection closes. Disposing the result ends the watch. */
export function watchConnection(socket: Socket): Disposable & { closed: AbortSignal } {
  const controller = new AbortController()
  const onClose = () => controller.abort(connectionClosedProblem())
  socket.once('close', onClose)
  if (socket.destroyed) onClose()
  return {
    closed: controller.signal,
    // Later requests reuse the connection, so the listener must not stay.
    [Symbol.dispose]: () => socket.off('close', onClose),
  }
}

export const connectionClosedProblem = () => problems.unreadableBody('The client closed the connection.')

/**
 * Runs `callback` in a slot of `queue`. Aborts it when the caller's connection closes, also while it waits for the
 * slot. If it takes longer than `timeoutMs` in the slot, aborts it and calls `onTimeout`, which returns the result or
 * throws.
 */
export async function runWhileConnected<T>(
  { request, queue, timeoutMs, onTimeout }: ConnectedWork<T>,
  callback: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using connection = watchConnection(request.stream.socket)
  const { closed } = connection
  closed.throwIfAborted()
  return await queue(async () => {
    // The client may have disconnected while the request waited for the slot.
    closed.throwIfAborted()
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      return await callback(AbortSignal.any([closed, timeout]))
    } catch (error) {
      if (closed.aborted) throw closed.reason
      if (timeout.aborted) return onTimeout()
      throw error
    }
  }, closed)
}
