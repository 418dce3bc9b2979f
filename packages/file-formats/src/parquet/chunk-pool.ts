import type { ChunkSink } from '@sluice/row-stream'
import type { ParquetLimits } from './limits.ts'

/** Reusable memory for chunks: it goes to the consumer with a chunk, and returns after use. */
export class ChunkPool implements ChunkSink {
  readonly #chunkBytes: number
  readonly #most: number
  readonly #post: (memory: ArrayBuffer, length: number) => void
  readonly #free: ArrayBuffer[] = []
  /** Number of chunks that may still be sent, and the waiting sender. */
  #credits: number
  #wake: (() => void) | undefined

  constructor({ chunkBytes, chunksInFlight }: ParquetLimits, post: (memory: ArrayBuffer, length: number) => void) {
    this.#chunkBytes = chunkBytes
    this.#most = chunksInFlight
    this.#credits = chunksInFlight
    this.#post = post
  }

  open(atLeast: number): Uint8Array<ArrayBuffer> {
    if (atLeast > this.#chunkBytes) return new Uint8Array(atLeast)
    return new Uint8Array(this.#free.pop() ?? new ArrayBuffer(this.#chunkBytes))
  }

  close({ buffer }: Uint8Array<ArrayBuffer>, length: number): void {
    this.#credits--
    this.#post(buffer, length)
  }

  /** Resolves when another chunk may be sent. */
  async room(): Promise<void> {
    while (this.#credits <= 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  allowOne(): void {
    this.#credits++
    this.#wake?.()
  }

  giveBack(memory: ArrayBuffer): void {
    if (memory.byteLength === this.#chunkBytes && this.#free.length < this.#most) this.#free.push(memory)
  }

  /** Restarts the count: the consumer discards all chunks sent so far and requests none of them. */
  startOver(): void {
    this.#credits = this.#most
  }
}
