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
 * Collects items and writes them in batches of `size`, in order: when a batch is full, and `flushMs` after the first
 * item. A failed batch is retried with the next one. `push` discards the item and returns false if `maxItems` items are
 * waiting.
 */
export function batchWriter<T>({ write, size, flushMs, maxItems }: BatchOptions<T>): BatchWriter<T> {
  let waitingItems: T[] = []
  let timer: NodeJS.Timeout | undefined
  let lastWrite: Promise<void> = Promise.resolve()

  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const nextWrite = lastWrite.catch(() => {}).then(writeAll)
    lastWrite = nextWrite
    return nextWrite
  }

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
      if (waitingItems.length % size === 0) void flush().catch(() => {})
      else timer ??= setTimeout(() => void flush().catch(() => {}), flushMs)
      return true
    },
    flush,
    [Symbol.asyncDispose]: flush,
  }
}
