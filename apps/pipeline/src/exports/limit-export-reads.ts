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
  const abortRead = (detail: string) => timeoutController.abort(exportTimeout(detail))
  const readTimer = setTimeout(() => abortRead(`Reading took longer than ${formatMs(readMs)}.`), readMs)
  const stopSignal = AbortSignal.any([signal, timeoutController.signal])

  return {
    signal: stopSignal,

    async *limit(bytes) {
      const source = bytes[Symbol.asyncIterator]()
      // Create a new promise for each chunk. A promise for the whole export would keep every chunk in memory that was
      // raced against it.
      let pendingChunk = Promise.withResolvers<IteratorResult<Uint8Array>>()
      const abort = () => pendingChunk.reject(stopSignal.reason)
      stopSignal.addEventListener('abort', abort, { once: true })
      try {
        for (;;) {
          stopSignal.throwIfAborted()
          pendingChunk = Promise.withResolvers()
          const silenceTimer = setTimeout(
            () => abortRead(`The source sent nothing for ${formatMs(silenceMs)}.`),
            silenceMs,
          )
          source.next().then(pendingChunk.resolve, pendingChunk.reject)
          const nextChunk = await pendingChunk.promise.finally(() => clearTimeout(silenceTimer))
          if (nextChunk.done) return
          yield nextChunk.value
        }
      } finally {
        stopSignal.removeEventListener('abort', abort)
        // After an abort, do not wait for the source to end, because a stalled source would never respond.
        const returnPromise = source.return?.()
        if (!stopSignal.aborted) await returnPromise
        else returnPromise?.catch(() => {})
      }
    },

    [Symbol.dispose]() {
      clearTimeout(readTimer)
    },
  }
}

const formatMs = (ms: number): string => (ms < 60_000 ? `${ms / 1_000} seconds` : `${Math.round(ms / 60_000)} minutes`)

const exportTimeout = (detail: string): Problem =>
  new Problem(422, 'query-timeout', 'The warehouse rejected the request.', {
    detail: `${detail} The export was stopped. Export fewer rows, or make the view materialised.`,
  })
