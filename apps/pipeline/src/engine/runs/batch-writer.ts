interface BatchOptions<T> {
  write(items: T[]): Promise<void>
  size: number
  /** Milliseconds after which a batch that is not full is written. */
  every: number
  /** Items held while the database does not take them; more are dropped. */
  held: number
}

/** Disposing it writes what is left, and throws if that cannot be written. */
export interface Batches<T> extends AsyncDisposable {
  /** Returns at once. False when the item was dropped. */
  push(item: T): boolean
  flush(): Promise<void>
}

/** Collects items and writes them many at a time, in order. What could not be written is tried again with the next. */
export function batches<T>({ write, size, every, held }: BatchOptions<T>): Batches<T> {
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
