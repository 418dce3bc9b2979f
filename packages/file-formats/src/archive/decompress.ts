import type { Transform } from 'node:stream'
import type { ByteSource, FileBytes } from '../spool/byte-source.ts'
import type { UploadLimits } from '../spool/upload-limits.ts'
import { SourceProblem } from '@sluice/row-stream'
import { tooLargeProblem } from '../spool/spool-writer.ts'
import { createGunzip } from 'node:zlib'

/**
 * Yields the decompressed contents of a part of a file. A chunk is valid until the next one is requested. `name` is the
 * file's name in messages. Throws SourceProblem ARCHIVE_DAMAGED, or at the limits TOO_LARGE or SUSPICIOUS_ARCHIVE.
 */
export async function* decompressChunks(
  file: FileBytes,
  decompressor: Transform,
  name: string,
  limits: UploadLimits,
): AsyncGenerator<Buffer, void, void> {
  const limit = new DecompressionLimit(name, limits)
  void writeFileTo(decompressor, file, limit)
  try {
    for await (const chunk of decompressor as AsyncIterable<Buffer>) {
      limit.countDecompressedBytes(chunk.length)
      yield chunk
      // Frees its memory at once, because garbage collection would start too late.
      freeOutput(chunk, limits.chunkBytes)
    }
  } catch (error) {
    throw findDecompressionProblem(error, name, limit.decompressedBytes) ?? error
  }
}

/**
 * Writes the bytes of a file to a decompressor, and ends it. The pieces share the same memory: each one has been
 * decompressed before the next one is read. An error of the file reaches the reader of the decompressor, and so does an
 * error of the decompressor itself, which ends the writing.
 */
async function writeFileTo(decompressor: Transform, file: FileBytes, limit: DecompressionLimit): Promise<void> {
  try {
    for await (const piece of file.chunks()) {
      limit.compressedBytes += piece.length
      await new Promise((onWritten) => decompressor.write(piece, onWritten))
      if (decompressor.destroyed) return
    }
    decompressor.end()
  } catch (error) {
    decompressor.destroy(error as Error)
  }
}

/**
 * Frees the memory of a decompressor's output once its last part has been read. It would otherwise wait for a garbage
 * collection, which V8 starts only after tens of megabytes. `outputBytes` is the size of the output's memory; smaller
 * outputs share memory with other buffers.
 */
function freeOutput({ buffer, byteOffset, length }: Buffer, outputBytes: number): void {
  if (buffer.byteLength === outputBytes && byteOffset + length === outputBytes) (buffer as ArrayBuffer).transfer(0)
}

/**
 * Compares the output of a decompressor with its input and stops it at the limits, as protection against zip bombs. The
 * ratio limit applies only above a minimum size, because small files with one repeated line compress very well and are
 * harmless.
 */
class DecompressionLimit {
  /** The compressed bytes that the decompressor has received until now. */
  compressedBytes = 0
  decompressedBytes = 0
  readonly #name: string
  readonly #limits: UploadLimits

  constructor(name: string, limits: UploadLimits) {
    this.#name = name
    this.#limits = limits
  }

  /** Counts decompressed bytes. Throws SourceProblem TOO_LARGE or SUSPICIOUS_ARCHIVE at the limits. */
  countDecompressedBytes(bytes: number): void {
    const { spoolBytes, ratio, ratioFrom } = this.#limits
    this.decompressedBytes += bytes
    if (this.decompressedBytes > spoolBytes) throw tooLargeProblem(this.#name, spoolBytes)
    const isSmall = this.decompressedBytes <= ratioFrom
    if (isSmall || this.decompressedBytes <= this.compressedBytes * ratio) return
    const text = `${this.#name} unpacks to more than ${ratio} times its size, like an archive that is built to fill a disk. If this is intended, upload it unpacked.`
    throw new SourceProblem('SUSPICIOUS_ARCHIVE', text)
  }
}

/**
 * Returns the problem for a decompressor's error, or undefined for any other error. `decompressedBytes` is the
 * number of bytes that the decompressor returned before.
 */
function findDecompressionProblem(cause: unknown, name: string, decompressedBytes: number): SourceProblem | undefined {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code !== 'Z_DATA_ERROR' && code !== 'Z_BUF_ERROR') return undefined
  return damagedArchiveProblem(name, describeDamage(code, message, decompressedBytes), cause)
}

export const damagedArchiveProblem = (name: string, fault: string, cause?: unknown): SourceProblem =>
  new SourceProblem('ARCHIVE_DAMAGED', `${name} ${fault}.`, { cause })

/** Returns the rest of a sentence about a damaged archive, after its name. */
function describeDamage(code: string, message: string, decompressedBytes: number): string {
  const location = decompressedBytes === 0 ? 'at its start' : `after ${decompressedBytes} unpacked bytes`
  if (code === 'Z_BUF_ERROR') return `ends too early, ${location}; upload the complete file`
  if (message !== 'incorrect header check') return `is damaged ${location} (${message}); upload it again`
  return 'is damaged: it has data before or after the gzip stream; compress it again'
}

/**
 * Returns the contents of a gzip file. It may consist of several members, as after `cat a.gz b.gz`, and end with zeros.
 * Verifies the checksum of each member. Throws SourceProblem ARCHIVE_DAMAGED, TOO_LARGE or SUSPICIOUS_ARCHIVE.
 */
export function gunzipFile(file: FileBytes, name: string, limits: UploadLimits): ByteSource {
  return { chunks: () => decompressChunks(file, createGunzip({ chunkSize: limits.chunkBytes }), name, limits) }
}
