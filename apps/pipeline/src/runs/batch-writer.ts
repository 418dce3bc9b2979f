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

/**
 * Collects items and writes them in batches of up to `size`, in order: when a batch is full, and `flushMs` after the
 * first item. The items of a failed batch stay in the list, and the next write starts with them.
 */
export function batchWriter<T>({ write, size, flushMs, maxItems }: BatchOptions<T>): BatchWriter<T> {
  let waitingItems: T[] = []
  let timer: NodeJS.Timeout | undefined
  let lastWrite: Promise<void> = Promise.resolve()

  /** Writes all waiting items after the write that is in progress. */
  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const nextWrite = lastWrite.catch(() => {}).then(writeAll)
    lastWrite = nextWrite
    return nextWrite
  }

  const flushWithoutErrors = () => void flush().catch(() => {})

  async function writeAll(): Promise<void> {
    while (waitingItems.length > 0) {
      const batch = waitingItems.slice(0, size)
      await write(batch)
      waitingItems = waitingItems.slice(batch.length)
    }
  }

  return {
    push(item) {
      if (waitingItems.length >= maxItems) return false
      waitingItems.push(item)
      const isBatchFull = waitingItems.length % size === 0
      if (isBatchFull) flushWithoutErrors()
      else timer ??= setTimeout(flushWithoutErrors, flushMs)
      return true
    },
    flush,
    [Symbol.asyncDispose]: flush,
  }
}
