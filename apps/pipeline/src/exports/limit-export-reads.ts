import { Problem } from '@sluice/http-server'

/** Timeouts in milliseconds: for the source to send the next rows, and for reading the source to its end. */
export interface ExportReadLimits {
  silenceMs: number
  readMs: number
}

/** A read with timeouts. Its signal aborts at a timeout and when the export ends. */
export interface LimitedRead extends Disposable {
  signal: AbortSignal
  /** Yields the chunks of the source. Throws at a timeout, even if the source ignores the signal. */
  limit(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
}

/**
 * Limits the duration of a read. The `signal` of the result aborts after `readMs` from now, or if the bytes passed to
 * `limit` pause for `silenceMs`. Dispose of the result when the read has ended.
 */
export function limitReading({ silenceMs, readMs }: ExportReadLimits, signal: AbortSignal): LimitedRead {
  const timeoutController = new AbortController()
  const abortAfter = (timeoutMs: number, detail: string) =>
    setTimeout(() => timeoutController.abort(exportTimeout(detail)), timeoutMs)
  const readTimer = abortAfter(readMs, `Reading took longer than ${formatMs(readMs)}.`)
  const stopSignal = AbortSignal.any([signal, timeoutController.signal])

  return {
    signal: stopSignal,

    async *limit(bytes) {
      const source = bytes[Symbol.asyncIterator]()
      try {
        for (;;) {
          stopSignal.throwIfAborted()
          const silenceTimer = abortAfter(silenceMs, `The source sent nothing for ${formatMs(silenceMs)}.`)
          const chunk = await rejectOnAbort(source.next(), stopSignal).finally(() => clearTimeout(silenceTimer))
          if (chunk.done) return
          yield chunk.value
        }
      } finally {
        const sourceEnd = source.return?.()
        // After an abort, do not wait for the source to end, because a stalled source would never respond.
        if (stopSignal.aborted) sourceEnd?.catch(() => {})
        else await sourceEnd
      }
    },

    [Symbol.dispose]() {
      clearTimeout(readTimer)
    },
  }
}

/** Returns the result of a promise. Rejects with the signal's reason as soon as the signal aborts. */
function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // `Promise.race` with a promise that lives as long as the export would keep the result of every race in memory.
  const { promise: result, resolve, reject } = Promise.withResolvers<T>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  promise.then(resolve, reject)
  return result.finally(() => signal.removeEventListener('abort', abort))
}

const formatMs = (ms: number): string => (ms < 60_000 ? `${ms / 1_000} seconds` : `${Math.round(ms / 60_000)} minutes`)

const exportTimeout = (detail: string): Problem =>
  new Problem(422, 'query-timeout', 'The warehouse rejected the request.', {
    detail: `${detail} The export was stopped. Export fewer rows, or make the view materialised.`,
  })
