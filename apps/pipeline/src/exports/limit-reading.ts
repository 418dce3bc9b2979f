import { Problem } from '@sluice/http-server'

/** Milliseconds for which a source may send nothing after its first rows, and for reading it to its end. */
export interface ExportReadLimits {
  silenceMs: number
  readMs: number
}

/** The time limits of one read. Its signal aborts at a limit, and when the export ends. */
export interface LimitedRead extends Disposable {
  signal: AbortSignal
  /** Yields the chunks of the source. Throws at a limit, even if the source does not react to the signal. */
  limit(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array>
}

/** Starts the time limits of a read. Dispose of it when the read has ended. */
export function limitReading({ silenceMs, readMs }: ExportReadLimits, signal: AbortSignal): LimitedRead {
  const timedOut = new AbortController()
  const stop = (detail: string) => timedOut.abort(exportTimeout(detail))
  const readTimer = setTimeout(() => stop(`Reading took longer than ${formatMs(readMs)}.`), readMs)
  const stopSignal = AbortSignal.any([signal, timedOut.signal])

  return {
    signal: stopSignal,

    async *limit(bytes) {
      const source = bytes[Symbol.asyncIterator]()
      // A new promise for each chunk: one that lives as long as the export would keep every chunk that was raced against it.
      let pending = Promise.withResolvers<IteratorResult<Uint8Array>>()
      const abort = () => pending.reject(stopSignal.reason)
      stopSignal.addEventListener('abort', abort, { once: true })
      try {
        for (;;) {
          stopSignal.throwIfAborted()
          pending = Promise.withResolvers()
          const silence = setTimeout(() => stop(`The source sent nothing for ${formatMs(silenceMs)}.`), silenceMs)
          source.next().then(pending.resolve, pending.reject)
          const next = await pending.promise.finally(() => clearTimeout(silence))
          if (next.done) return
          yield next.value
        }
      } finally {
        stopSignal.removeEventListener('abort', abort)
        // A source that stalls would not answer, so after an abort the end of the source is not awaited.
        const returned = source.return?.()
        if (!stopSignal.aborted) await returned
        else returned?.catch(() => {})
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
