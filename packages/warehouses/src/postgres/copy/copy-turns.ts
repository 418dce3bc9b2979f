import { availableParallelism } from 'node:os'
import { Semaphore } from '@sluice/process'

const coreCount = Math.max(2, availableParallelism())

/** Limits concurrent copies in this process, fairly per client. Each copy uses one or two cores, so more would be slower. */
const copySemaphore = new Semaphore({
  total: coreCount,
  waiting: Number.MAX_SAFE_INTEGER,
  title: 'All copy slots are in use.',
})

/**
 * Bytes that a load may copy before another load gets the slot. Each connection's socket buffers up to 10 MB that the server has
 * not read, so with smaller shares the server would work on many loads at once.
 */
const turnBytes = 64 * 1024 * 1024
/** The maximum time in milliseconds before another load gets the slot: a source of many small chunks takes long to send `turnBytes`. */
const longestTurnMs = 5_000
/** Milliseconds that a load waits for a chunk of its source before it releases its slot. */
const slowChunkMs = 100

/**
 * The copy slots of one load, shared among all clients: a client with many loads slows down only these loads. A load
 * releases its slot while it waits for a slow source.
 */
export class CopyTurns implements Disposable {
  readonly #client: string
  readonly #signal: AbortSignal
  #slot: Disposable | undefined
  #bytes = 0
  #began = 0

  constructor(client: string, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  /** Returns whether another client copies or waits for a slot. */
  get isShared(): boolean {
    return copySemaphore.isShared(this.#client)
  }

  /** Waits for the next chunk of the source. Releases the slot if that takes long. */
  async waitFor<T>(chunk: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this[Symbol.dispose](), slowChunkMs)
    try {
      return await chunk
    } finally {
      clearTimeout(timer)
    }
  }

  /** Waits until a chunk of this many bytes may be copied. Throws the signal's reason. */
  async take(bytes: number): Promise<void> {
    if (this.#bytes >= turnBytes || performance.now() - this.#began > longestTurnMs) this[Symbol.dispose]()
    if (!this.#slot) {
      this.#slot = await copySemaphore.acquire(this.#client, { signal: this.#signal })
      this.#began = performance.now()
    }
    this.#bytes += bytes
  }

  [Symbol.dispose](): void {
    this.#slot?.[Symbol.dispose]()
    this.#slot = undefined
    this.#bytes = 0
  }
}
