import { readSync } from 'node:fs'

/** Bytes that can be read repeatedly from the start. A chunk is valid until the next one is requested. */
export interface ByteSource {
  chunks(): AsyncIterable<Buffer>
}

/** A part of an open file. `onRead` receives the position after each chunk read. */
export class FileBytes implements ByteSource {
  readonly descriptor: number
  readonly from: number
  readonly to: number
  readonly #chunkBytes: number
  readonly #onRead: (position: number) => void

  constructor(
    descriptor: number,
    from: number,
    to: number,
    chunkBytes: number,
    onRead: (position: number) => void = () => {},
  ) {
    this.descriptor = descriptor
    this.from = from
    this.to = to
    this.#chunkBytes = chunkBytes
    this.#onRead = onRead
  }

  /** Returns another part of the same file. */
  part(from: number, to: number): FileBytes {
    return new FileBytes(this.descriptor, from, to, this.#chunkBytes, this.#onRead)
  }

  async *chunks(): AsyncGenerator<Buffer, void, void> {
    const chunk = Buffer.allocUnsafeSlow(this.#chunkBytes)
    for (let readFrom = this.from; readFrom < this.to; ) {
      const read = readSync(this.descriptor, chunk, 0, Math.min(chunk.length, this.to - readFrom), readFrom)
      if (read === 0) return
      readFrom += read
      this.#onRead(readFrom)
      yield chunk.subarray(0, read)
    }
  }
}

/** Reads the first `length` bytes of a source, or fewer if the source is shorter. */
export async function readStart(source: ByteSource, length: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytesRead = 0
  for await (const chunk of source.chunks()) {
    chunks.push(Buffer.from(chunk))
    bytesRead += chunk.length
    if (bytesRead >= length) break
  }
  return Buffer.concat(chunks).subarray(0, length)
}

/**
 * Returns a source that stops after the chunk with which at least `minBytes` bytes are read. It stops by throwing an
 * error, so that no reader takes this for the real end. `catchTruncatedRead` converts the error to the value
 * 'TRUNCATED'.
 */
export const truncateAfter = (source: ByteSource, minBytes: number): ByteSource =>
  truncateWhen(source, (bytesRead) => bytesRead >= minBytes)

/** Like `truncateAfter`, but stops once `isEnough` returns true for the number of bytes read until then. */
export function truncateWhen(source: ByteSource, isEnough: (bytesRead: number) => boolean): ByteSource {
  return {
    async *chunks() {
      let bytesRead = 0
      for await (const chunk of source.chunks()) {
        yield chunk
        bytesRead += chunk.length
        if (isEnough(bytesRead)) throw new TruncatedRead()
      }
    },
  }
}

class TruncatedRead extends Error {}

/** Returns 'TRUNCATED' if a truncated source has stopped. Rethrows any other error. */
export function catchTruncatedRead(error: unknown): 'TRUNCATED' {
  if (error instanceof TruncatedRead) return 'TRUNCATED'
  throw error
}
