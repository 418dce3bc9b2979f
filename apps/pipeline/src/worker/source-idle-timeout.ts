import { failpoint } from '@sluice/process'
import { type RowStream, SourceProblem } from '@sluice/row-stream'

/** Detects a source that no longer returns data. */
export interface SourceIdleTimeout {
  /** Returns the same row streams (tables of the source), with a timeout for each read. */
  watch(rowStreams: AsyncIterable<RowStream>): AsyncIterable<RowStream>
  /** Restarts the timeout, because the source is active even if it has not returned rows yet. */
  recordActivity(): void
}

/**
 * Returns a watch over a source, which calls `end` if a read waits for the source for `seconds` without any activity. A
 * connection that hangs raises no error. The time for which the warehouse is writing does not count.
 */
export function sourceIdleTimeout(seconds: number, end: (reason: SourceProblem) => void): SourceIdleTimeout {
  let timer: NodeJS.Timeout | undefined
  let waitingReads = 0

  /** Waits for a read. The timer runs while at least one read waits. */
  async function withTimeout<T>(read: Promise<T>): Promise<T> {
    waitingReads += 1
    if (timer) timer.refresh()
    else timer = setTimeout(() => end(sourceIdleProblem(seconds)), seconds * 1000)
    try {
      return await read
    } finally {
      waitingReads -= 1
      if (waitingReads === 0) stopTimer()
    }
  }

  function stopTimer(): void {
    clearTimeout(timer)
    timer = undefined
  }

  /**
   * Returns the items, mapped with `mapItem`, with the timeout for each read. This is not a generator function, because
   * a generator cannot be closed while a call of `next` is pending.
   */
  function withReadTimeouts<T>(items: AsyncIterable<T>, mapItem: (item: T) => T = (item) => item): AsyncIterable<T> {
    return {
      [Symbol.asyncIterator]() {
        const iterator = items[Symbol.asyncIterator]()
        return {
          async next() {
            const next = await withTimeout(readNext(iterator))
            return next.done ? next : { done: false, value: mapItem(next.value) }
          },
          async return(value) {
            stopTimer()
            return (await iterator.return?.(value)) ?? { done: true, value: undefined }
          },
        }
      },
    }
  }

  const watchRows = (rowStream: RowStream): RowStream => ({
    ...rowStream,
    content: { ...rowStream.content, rows: (types) => withReadTimeouts(rowStream.content.rows(types)) },
  })

  return {
    watch: (rowStreams) => withReadTimeouts(rowStreams, watchRows),
    recordActivity: () => void timer?.refresh(),
  }
}

async function readNext<T>(iterator: AsyncIterator<T>): Promise<IteratorResult<T>> {
  await failpoint('reading')
  return iterator.next()
}

function sourceIdleProblem(seconds: number): SourceProblem {
  const duration = seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`
  return new SourceProblem(
    'SOURCE_SILENT',
    `The source has returned nothing for ${duration}, so the run was stopped. The old data stays. Check the source and run again; if it needs more time, ask the operator to raise SOURCE_SILENCE_SECONDS.`,
  )
}
