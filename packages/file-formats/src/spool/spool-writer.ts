import { ftruncateSync } from 'node:fs'
import { SourceProblem } from '@sluice/row-stream'
import { writeSpool } from './spool-file.ts'

const bufferBytes = 512 * 1024

/**
 * Writes a spool file (temporary file) from its start, through a buffer. To write many small pieces, call `reserve`,
 * write to the buffer `bytes` from `at` on, and advance `at`. To write whole chunks, call `put`.
 */
export class SpoolWriter {
  bytes = Buffer.allocUnsafeSlow(bufferBytes)
  at = 0
  readonly #descriptor: number
  readonly #maxBytes: number
  readonly #name: string
  readonly #minSuspiciousBytes: number
  #written = 0

  /**
   * Creates a writer. `name` is the upload's name in messages. A file with more than `maxBytes` is too large. A file
   * with more than `minSuspiciousBytes` means that the upload may be malicious.
   */
  constructor(descriptor: number, maxBytes: number, name: string, minSuspiciousBytes = Infinity) {
    this.#descriptor = descriptor
    this.#maxBytes = maxBytes
    this.#name = name
    this.#minSuspiciousBytes = minSuspiciousBytes
  }

  get size(): number {
    return this.#written + this.at
  }

  /** Ensures that `length` bytes can be written from `at` on. */
  reserve(length: number): void {
    if (length <= this.bytes.length - this.at) return
    this.flush()
    const isTooSmall = length > this.bytes.length
    // The buffer was enlarged for a long piece before, and its normal size is sufficient again.
    const isTooLarge = this.bytes.length > bufferBytes && length <= bufferBytes
    if (isTooSmall) this.bytes = Buffer.allocUnsafeSlow(length)
    else if (isTooLarge) this.bytes = Buffer.allocUnsafeSlow(bufferBytes)
  }

  /** Writes a chunk. A large chunk is written at once, a small one is copied to the buffer. */
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
    if (totalBytes > this.#maxBytes) throw tooLargeProblem(this.#name, this.#maxBytes)
    if (totalBytes > this.#minSuspiciousBytes) throw suspiciousUploadProblem(this.#name)
    writeSpool(this.#descriptor, chunk, this.#written)
    this.#written = totalBytes
  }
}

function suspiciousUploadProblem(name: string): SourceProblem {
  const text = `${name} grows to many times its size when it is read, like a file that is built to fill a disk. If this is intended, upload it as plain CSV.`
  return new SourceProblem('SUSPICIOUS_ARCHIVE', text)
}

export function tooLargeProblem(name: string, maxBytes: number): SourceProblem {
  const text = `${name} is larger than ${formatMaxBytes(maxBytes)} after unpacking. Load it in parts.`
  return new SourceProblem('TOO_LARGE', text)
}

function formatMaxBytes(bytes: number): string {
  if (bytes >= 1e9) return `${Math.floor(bytes / 1e9)} GB`
  return bytes >= 1e6 ? `${Math.floor(bytes / 1e6)} MB` : `${bytes} bytes`
}
