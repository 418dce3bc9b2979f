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
 * Bytes that a load may copy before another load gets its slot. Each connection's socket buffers up to 10 MB that the server has
 * not read. With a smaller limit, the server would therefore still copy the buffers of many loads at once.
 */
const maxSlotBytes = 64 * 1024 * 1024
/** Milliseconds before another load gets the slot, because a source of many small chunks takes long to send `maxSlotBytes`. */
const maxSlotMs = 5_000
/** Milliseconds that a load waits for a chunk of its source before it releases its slot. */
const slowChunkMs = 100

/**
 * The copy slot of one load. The load acquires a slot to copy, and releases it after `maxSlotBytes` or `maxSlotMs`, and while it
 * waits for a slow source. The semaphore divides the slots evenly among clients, so a client with many loads slows down only its own.
 */
export class CopySlot implements Disposable {
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
  async acquire(bytes: number): Promise<void> {
    if (this.#bytes >= maxSlotBytes || performance.now() - this.#began > maxSlotMs) this[Symbol.dispose]()
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
