import { failpoint } from '../failpoints.ts'
import { type Feed, SourceProblem } from '../sources/source.ts'

/** Waits for a source, but not for ever. */
export interface Patience {
  /** The same feeds, watched over. */
  watch(feeds: AsyncIterable<Feed>): AsyncIterable<Feed>
  /** The source does something, even if it gives nothing yet. */
  sign(): void
}

/**
 * Calls `end` when a source that is being waited for shows no sign of life for so many seconds: a connection that hangs
 * gives no error. While the warehouse is what takes its time, the source may be as silent as it likes.
 */
export function patience(seconds: number, end: (reason: SourceProblem) => void): Patience {
  let timer: NodeJS.Timeout | undefined
  let waiting = 0

  async function awaited<T>(next: Promise<T>): Promise<T> {
    waiting += 1
    if (timer) timer.refresh()
    else timer = setTimeout(() => end(tooSilent(seconds)), seconds * 1000)
    try {
      return await next
    } finally {
      waiting -= 1
      if (waiting === 0) rest()
    }
  }

  function rest(): void {
    clearTimeout(timer)
    timer = undefined
  }

  /** Not a generator: one that waits for its `next` could not be told to return meanwhile. */
  function watched<T>(items: AsyncIterable<T>, change: (item: T) => T = (item) => item): AsyncIterable<T> {
    return {
      [Symbol.asyncIterator]() {
        const inner = items[Symbol.asyncIterator]()
        return {
          async next() {
            const next = await awaited(nextOf(inner))
            return next.done ? next : { done: false, value: change(next.value) }
          },
          async return(value) {
            rest()
            return (await inner.return?.(value)) ?? { done: true, value: undefined }
          },
        }
      },
    }
  }

  const withContent = (feed: Feed): Feed => ({
    ...feed,
    content: { ...feed.content, rows: (types) => watched(feed.content.rows(types)) },
  })

  return {
    watch: (feeds) => watched(feeds, withContent),
    sign: () => void timer?.refresh(),
  }
}

async function nextOf<T>(inner: AsyncIterator<T>): Promise<IteratorResult<T>> {
  await failpoint('reading')
  return inner.next()
}

function tooSilent(seconds: number): SourceProblem {
  const span = seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`
  return new SourceProblem(
    'SOURCE_SILENT',
    `The source has given nothing for ${span}, so the run was stopped. The old data stays. Look whether it still answers, then run again; if it takes that long by nature, raise SOURCE_SILENCE_SECONDS.`,
  )
}
