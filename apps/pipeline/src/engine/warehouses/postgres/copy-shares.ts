import { availableParallelism } from 'node:os'
import { Semaphore } from '@sluice/process'

const cores = Math.max(2, availableParallelism())

/** Loads that copy at the same moment in this process, by client. Each keeps a core or two busy, so more would only slow each other down. */
const copying = new Semaphore({ total: cores, waiting: Number.MAX_SAFE_INTEGER, title: 'Every core copies.' })

/**
 * Bytes until another load may go on. Sockets hold up to 10 MB of each connection that the server has yet to read: after a short turn it would
 * still work on many loads at once.
 */
const turn = 64 * 1024 * 1024
/** Milliseconds of a turn at most: a source of many small chunks takes long to bring so many bytes. */
const longestTurn = 5_000
/** Milliseconds that a source may take for a chunk before others go on. */
const slow = 100

/**
 * The turns of one load to copy, among those of all clients: a client with many loads slows down its own, not those of others. A load whose
 * source is slow holds no slot while it waits for it.
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

  /** Whether another client copies or waits for its turn. */
  get isShared(): boolean {
    return copying.isShared(this.#client)
  }

  /** Waits for the next chunk, without a slot when that takes long. */
  async waitFor<T>(chunk: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this[Symbol.dispose](), slow)
    try {
      return await chunk
    } finally {
      clearTimeout(timer)
    }
  }

  /** Waits until a chunk of so many bytes may be copied. Throws the signal's reason. */
  async take(bytes: number): Promise<void> {
    if (this.#bytes >= turn || performance.now() - this.#began > longestTurn) this[Symbol.dispose]()
    if (!this.#slot) {
      this.#slot = await copying.acquire(this.#client, { signal: this.#signal })
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
