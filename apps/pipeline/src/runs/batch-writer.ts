interface BatchOptions<T> {
  write(items: T[]): Promise<void>
  size: number
  /** Milliseconds after which a batch is written even if it is not full. */
  flushMs: number
  /** The maximum number of items that wait for the database. Further items are dropped. */
  maxItems: number
}

/** Collects items and writes them in batches. Disposing of it writes the remaining items, and throws if that fails. */
export interface BatchWriter<T> extends AsyncDisposable {
  /** Adds an item without waiting. Returns false if it was dropped. */
  push(item: T): boolean
  flush(): Promise<void>
}

/** Collects items and writes them in batches, in order. A failed batch is retried with the next one. */
export function batchWriter<T>({ write, size, flushMs: every, maxItems: held }: BatchOptions<T>): BatchWriter<T> {
  let waiting: T[] = []
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const next = writing.catch(() => {}).then(writeAll)
    writing = next
    return next
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, size)
      await write(batch)
      waiting = waiting.slice(batch.length)
    }
  }

  return {
    push(item) {
      if (waiting.length >= held) return false
      waiting.push(item)
      if (waiting.length % size === 0) void flush().catch(() => {})
      else timer ??= setTimeout(() => void flush().catch(() => {}), every)
      return true
    },
    flush,
    [Symbol.asyncDispose]: flush,
  }
}
