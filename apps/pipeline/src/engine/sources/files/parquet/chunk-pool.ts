import type { ChunkSink } from '@sluice/tuples'
import type { ParquetLimits } from './limits.ts'

/** Memory for chunks that goes round: to the consumer with a chunk, and back when nobody needs it any more. */
export class ChunkPool implements ChunkSink {
  readonly #chunkBytes: number
  readonly #most: number
  readonly #post: (memory: ArrayBuffer, length: number) => void
  readonly #free: ArrayBuffer[] = []
  /** Chunks that may still be sent, and who waits for one. */
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

  /** What was sent so far is thrown away by the consumer, which will ask for none of it. */
  startOver(): void {
    this.#credits = this.#most
  }
}
