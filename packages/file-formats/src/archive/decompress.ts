import { Readable, type Transform, pipeline } from 'node:stream'
import type { ByteSource, FileBytes } from '../spool/byte-source.ts'
import type { UploadLimits } from '../spool/upload-limits.ts'
import { SourceProblem } from '@sluice/row-stream'
import { tooLarge } from '../spool/spool-writer.ts'
import { createGunzip } from 'node:zlib'

/** Yields the decompressed chunks of a part of a file, within the limits. `name` is the file's name in messages. */
export async function* decompressChunks(
  file: FileBytes,
  decompressor: Transform,
  name: string,
  limits: UploadLimits,
): AsyncGenerator<Buffer, void, void> {
  const guard = new DecompressionLimit(name, limits)
  const pieces = file.pieces((bytes) => {
    guard.packed = bytes
  })
  // An error reaches the loop below through the stream itself, so it is ignored here.
  pipeline(Readable.from(pieces, { highWaterMark: 1 }), decompressor, () => {})
  try {
    for await (const chunk of decompressor as AsyncIterable<Buffer>) {
      guard.passed(chunk.length)
      yield chunk
    }
  } catch (error) {
    throw findDecompressionProblem(error, name, guard.unpacked) ?? error
  }
}

/**
 * Compares the output of a decompressor with its input and stops it at the limits, as protection against zip bombs. The
 * ratio limit applies only above a minimum size, because small files with one repeated line compress very well and are
 * harmless.
 */
class DecompressionLimit {
  /** The compressed bytes that the decompressor has received until now. */
  packed = 0
  unpacked = 0
  readonly #name: string
  readonly #limits: UploadLimits

  constructor(name: string, limits: UploadLimits) {
    this.#name = name
    this.#limits = limits
  }

  /** Counts decompressed bytes. Throws SourceProblem TOO_LARGE or SUSPICIOUS_ARCHIVE at the limits. */
  passed(bytes: number): void {
    const { spoolBytes, ratio, ratioFrom } = this.#limits
    this.unpacked += bytes
    if (this.unpacked > spoolBytes) throw tooLarge(this.#name, spoolBytes)
    if (this.unpacked <= ratioFrom || this.unpacked <= this.packed * ratio) return
    const text = `${this.#name} unpacks to more than ${ratio} times its size, like an archive that is built to fill a disk. If this is intended, upload it unpacked.`
    throw new SourceProblem('SUSPICIOUS_ARCHIVE', text)
  }
}

/**
 * Returns the problem for a decompressor's error, or undefined for any other error. `unpacked` is the number of bytes
 * that it returned before.
 */
function findDecompressionProblem(cause: unknown, name: string, unpacked: number): SourceProblem | undefined {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code !== 'Z_DATA_ERROR' && code !== 'Z_BUF_ERROR') return undefined
  return damagedArchiveProblem(name, describeDamage(code, message, unpacked), cause)
}

export const damagedArchiveProblem = (name: string, fault: string, cause?: unknown): SourceProblem =>
  new SourceProblem('ARCHIVE_DAMAGED', `${name} ${fault}.`, { cause })

function describeDamage(code: string, message: string, unpacked: number): string {
  const location = unpacked === 0 ? 'at its start' : `after ${unpacked} unpacked bytes`
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
