import { close, read as readCallback, write as writeCallback } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import type { DownloadBytes } from '@sluice/http-server'
import { openSpool } from '@sluice/file-formats/spool/spool-file'

const write = promisify(writeCallback)
const read = promisify(readCallback)

const readChunkBytes = 256 * 1024

/**
 * The bytes of one export in a temporary file. The file has no directory entry, so its disk space is freed whenever the
 * process ends. One writer appends, and any number of readers follow at their own speed.
 */
export class ExportSpool implements DownloadBytes, Disposable {
  readonly id: string = randomUUID()
  readonly #descriptor: number
  #length = 0
  #outcome: { error?: unknown } | undefined
  #changed = Promise.withResolvers<void>()
  #readers = 0
  #isDisposed = false
  #isClosed = false

  /** Throws `SourceProblem` with the code DISK_FULL or SPOOL_NOT_WRITABLE. */
  constructor(directory: string) {
    this.#descriptor = openSpool(directory)
  }

  get length(): number {
    return this.#length
  }

  async append(bytes: Uint8Array): Promise<void> {
    let position = 0
    while (position < bytes.length) {
      const { bytesWritten } = await write(this.#descriptor, bytes, position, bytes.length - position, this.#length)
      position += bytesWritten
      this.#length += bytesWritten
    }
    this.#notify()
  }

  complete(): void {
    this.#end({})
  }

  fail(error: unknown): void {
    this.#end({ error })
  }

  /** Waits until the export is complete, and returns its size in bytes. Throws the error that was passed to `fail`. */
  async size(): Promise<number> {
    while (!this.#outcome) await this.#changed.promise
    if ('error' in this.#outcome) throw this.#outcome.error
    return this.#length
  }

  /**
   * Yields the bytes from a position on, and waits for bytes that are not written yet. A chunk is valid only until the
   * next one is requested.
   */
  async *read(from: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    // After closing, the descriptor's number may belong to another file.
    if (this.#isClosed) throw createEndedError()
    this.#readers += 1
    const memory = Buffer.allocUnsafe(Math.min(readChunkBytes, this.#outcome ? this.#length : readChunkBytes))
    const wake = () => this.#notify()
    signal.addEventListener('abort', wake, { once: true })
    try {
      let position = from
      for (;;) {
        signal.throwIfAborted()
        if (this.#isDisposed) throw createEndedError()
        if (position < this.#length) {
          const { bytesRead } = await read(
            this.#descriptor,
            memory,
            0,
            Math.min(memory.length, this.#length - position),
            position,
          )
          position += bytesRead
          yield memory.subarray(0, bytesRead)
        } else if (this.#outcome) {
          if ('error' in this.#outcome) throw this.#outcome.error
          return
        } else await this.#changed.promise
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#readers -= 1
      this.#closeIfUnused()
    }
  }

  /** Makes further reads throw. The file stays open until the writer and all readers have ended. */
  [Symbol.dispose](): void {
    this.#isDisposed = true
    this.#notify()
    this.#closeIfUnused()
  }

  #closeIfUnused(): void {
    if (!this.#isDisposed || !this.#outcome || this.#readers > 0 || this.#isClosed) return
    this.#isClosed = true
    close(this.#descriptor, () => {})
  }

  #end(outcome: { error?: unknown }): void {
    this.#outcome ??= outcome
    this.#notify()
    this.#closeIfUnused()
  }

  #notify(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

const createEndedError = () => new Error('The export has ended. Request it again.')
