import { ftruncateSync, writeSync } from 'node:fs'
import { SourceProblem } from '../../source.ts'
import { diskProblem } from './disk-problem.ts'

const bufferBytes = 512 * 1024

/**
 * Writes a spool from its start. Whoever makes many small pieces asks for `room`, writes into `bytes` from `at` on and
 * moves `at`; whole chunks go through `put`. Nothing more than the buffer is held.
 */
export class SpoolWriter {
  bytes = Buffer.allocUnsafeSlow(bufferBytes)
  at = 0
  readonly #descriptor: number
  readonly #limit: number
  readonly #name: string
  #written = 0

  /** `name` is what people call the upload, and `limit` the bytes that it may come to. */
  constructor(descriptor: number, limit: number, name: string) {
    this.#descriptor = descriptor
    this.#limit = limit
    this.#name = name
  }

  /** Bytes so far, those in the buffer included. */
  get size(): number {
    return this.#written + this.at
  }

  /** Makes sure that `length` bytes can be written from `at` on. */
  room(length: number): void {
    if (length <= this.bytes.length - this.at) return
    this.flush()
    if (length > this.bytes.length) this.bytes = Buffer.allocUnsafeSlow(length)
    else if (this.bytes.length > bufferBytes && length <= bufferBytes) this.bytes = Buffer.allocUnsafeSlow(bufferBytes)
  }

  put(chunk: Uint8Array): void {
    const large = chunk.length >= bufferBytes / 2
    // What waits in the buffer comes before it, whether there is room for both or not.
    if (large || chunk.length > this.bytes.length - this.at) this.flush()
    if (large) return this.#write(chunk)
    this.room(chunk.length)
    this.bytes.set(chunk, this.at)
    this.at += chunk.length
  }

  /** Throws SourceProblem DISK_FULL, or TOO_LARGE at the limit. */
  flush(): void {
    const { at } = this
    this.at = 0
    if (at > 0) this.#write(this.bytes.subarray(0, at))
  }

  /** Forgets everything that was written. */
  startOver(): void {
    this.at = 0
    this.#written = 0
    ftruncateSync(this.#descriptor, 0)
  }

  #write(chunk: Uint8Array): void {
    if (this.#written + chunk.length > this.#limit) throw tooLarge(this.#name, this.#limit)
    try {
      for (let done = 0; done < chunk.length; ) {
        const wrote = writeSync(this.#descriptor, chunk, done, chunk.length - done, this.#written)
        done += wrote
        this.#written += wrote
      }
    } catch (error) {
      throw diskProblem(error) ?? error
    }
  }
}

export function tooLarge(name: string, limit: number): SourceProblem {
  const most =
    limit >= 1e9 ? `${Math.floor(limit / 1e9)} GB` : limit >= 1e6 ? `${Math.floor(limit / 1e6)} MB` : `${limit} bytes`
  return new SourceProblem('TOO_LARGE', `${name} comes to more than ${most} once it is unpacked; load it in parts.`)
}
