/** Memory for so many chunks, each made when it is first needed, and used again once it comes back. */
export class ChunkPool {
  readonly #chunkBytes: number
  readonly #free: ArrayBuffer[] = []
  #unmade: number
  #wake: (() => void) | undefined

  constructor(chunks: number, chunkBytes: number) {
    this.#unmade = chunks
    this.#chunkBytes = chunkBytes
  }

  /** Memory for at least so many bytes, as soon as there is some. */
  async take(bytes: number): Promise<ArrayBuffer> {
    while (this.#free.length === 0 && this.#unmade === 0) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      await promise
    }
    const memory = this.#free.pop()
    if (!memory) this.#unmade--
    // A record that is longer than a chunk gets memory of its own, for which a chunk of the pool is given up.
    return memory && memory.byteLength >= bytes ? memory : new ArrayBuffer(Math.max(bytes, this.#chunkBytes))
  }

  give(memory: ArrayBuffer): void {
    if (memory.byteLength === this.#chunkBytes) this.#free.push(memory)
    else this.#unmade++
    this.#wake?.()
  }
}
