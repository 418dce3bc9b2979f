import { ftruncateSync } from 'node:fs'
import { SourceProblem } from '@sluice/row-stream'
import { writeSpool } from './spool-file.ts'

const bufferBytes = 512 * 1024

/**
 * Writes a spool file (temporary file) from its start. To write many small pieces, call `reserve`, write to `bytes`
 * from `at` on and advance `at`. To write whole chunks, call `put`. Only the buffer is in memory.
 */
export class SpoolWriter {
  bytes = Buffer.allocUnsafeSlow(bufferBytes)
  at = 0
  readonly #descriptor: number
  readonly #limit: number
  readonly #name: string
  readonly #dense: number
  #written = 0

  /**
   * Creates a writer. `name` is the upload's name in messages, and `limit` the maximum size in bytes. `dense` is the
   * size above which the upload is suspicious.
   */
  constructor(descriptor: number, limit: number, name: string, dense = Infinity) {
    this.#descriptor = descriptor
    this.#limit = limit
    this.#name = name
    this.#dense = dense
  }

  get size(): number {
    return this.#written + this.at
  }

  /** Ensures that `length` bytes can be written from `at` on. */
  reserve(length: number): void {
    if (length <= this.bytes.length - this.at) return
    this.flush()
    if (length > this.bytes.length) this.bytes = Buffer.allocUnsafeSlow(length)
    else if (this.bytes.length > bufferBytes && length <= bufferBytes) this.bytes = Buffer.allocUnsafeSlow(bufferBytes)
  }

  put(chunk: Uint8Array): void {
    const isLarge = chunk.length >= bufferBytes / 2
    // The buffered bytes precede a large chunk in the file, so they must be flushed first.
    if (isLarge || chunk.length > this.bytes.length - this.at) this.flush()
    if (isLarge) return this.#write(chunk)
    this.reserve(chunk.length)
    this.bytes.set(chunk, this.at)
    this.at += chunk.length
  }

  /** Writes the buffered bytes. Throws SourceProblem DISK_FULL, or TOO_LARGE or SUSPICIOUS_ARCHIVE at the limits. */
  flush(): void {
    const { at: position } = this
    this.at = 0
    if (position > 0) this.#write(this.bytes.subarray(0, position))
  }

  /** Discards everything that was written. */
  startOver(): void {
    this.at = 0
    this.#written = 0
    ftruncateSync(this.#descriptor, 0)
  }

  #write(chunk: Uint8Array): void {
    const totalBytes = this.#written + chunk.length
    if (totalBytes > this.#limit) throw tooLarge(this.#name, this.#limit)
    if (totalBytes > this.#dense) throw tooDense(this.#name)
    writeSpool(this.#descriptor, chunk, this.#written)
    this.#written = totalBytes
  }
}

function tooDense(name: string): SourceProblem {
  const text = `${name} grows to many times its size when it is read, like a file that is built to fill a disk. If this is intended, upload it as plain CSV.`
  return new SourceProblem('SUSPICIOUS_ARCHIVE', text)
}

export function tooLarge(name: string, limit: number): SourceProblem {
  const limitText =
    limit >= 1e9 ? `${Math.floor(limit / 1e9)} GB` : limit >= 1e6 ? `${Math.floor(limit / 1e6)} MB` : `${limit} bytes`
  return new SourceProblem('TOO_LARGE', `${name} is larger than ${limitText} after unpacking. Load it in parts.`)
}
