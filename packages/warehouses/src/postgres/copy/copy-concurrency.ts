import { availableParallelism } from 'node:os'
import { Semaphore } from '@sluice/process'

const coreCount = Math.max(2, availableParallelism())

/**
 * Limits concurrent copies in this process and shares them fairly among organisations. Each copy uses one or two cores,
 * so more copies than cores would only be slower.
 */
const copySemaphore = new Semaphore({
  total: coreCount,
  waiting: Number.MAX_SAFE_INTEGER,
  title: 'All copy slots are in use.',
})

/**
 * The bytes that a load may copy before it must release its slot to another load. Each connection's socket buffers up
 * to 10 MB that the server has not read yet. With a smaller limit, the server would still process the buffers of many
 * loads at once.
 */
const maxSlotBytes = 64 * 1024 * 1024
/**
 * The milliseconds after which a load must release its slot, because a source with small chunks takes long to reach
 * `maxSlotBytes`.
 */
const maxSlotMs = 5_000
/** Milliseconds that a load waits for the next chunk of its source before it releases its slot. */
const slowChunkMs = 100

/**
 * The copy slot of one load. The load acquires it before copying, and releases it after `maxSlotBytes` or `maxSlotMs`
 * and while it waits for a slow source. The semaphore shares the slots evenly among organisations, so that many
 * loads of one organisation do not slow down others.
 */
export class CopySlot implements Disposable {
  readonly #client: string
  readonly #signal: AbortSignal
  /** The acquired slot; undefined while the load has none. */
  #slot: Disposable | undefined
  /** The bytes copied, and the time, since the slot was acquired. */
  #bytes = 0
  #acquiredAt = 0

  /** `client` identifies the organisation. */
  constructor(client: string, signal: AbortSignal) {
    this.#client = client
    this.#signal = signal
  }

  /** True if another organisation is copying or waiting for a slot. */
  get isShared(): boolean {
    return copySemaphore.isShared(this.#client)
  }

  /**
   * Returns the result of `chunk`, the source's next chunk. Releases the slot if that takes longer than `slowChunkMs`.
   */
  async waitFor<T>(chunk: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this[Symbol.dispose](), slowChunkMs)
    try {
      return await chunk
    } finally {
      clearTimeout(timer)
    }
  }

  /**
   * Waits until the load may copy a chunk of this many bytes. A slot that the load has used long enough is released
   * first, and acquired again when it is the load's turn. Throws the signal's reason on abort.
   */
  async acquire(bytes: number): Promise<void> {
    const isUsedUp = this.#bytes >= maxSlotBytes || performance.now() - this.#acquiredAt > maxSlotMs
    if (isUsedUp) this[Symbol.dispose]()
    if (!this.#slot) {
      this.#slot = await copySemaphore.acquire(this.#client, { signal: this.#signal })
      this.#acquiredAt = performance.now()
    }
    this.#bytes += bytes
  }

  /** Releases the slot, if the load has one. `acquire` may be called again afterwards. */
  [Symbol.dispose](): void {
    this.#slot?.[Symbol.dispose]()
    this.#slot = undefined
    this.#bytes = 0
  }
}
