import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { SourceProblem } from '../../source.ts'
import type { ByteSource, FileBytes } from '../spool/byte-source.ts'
import type { UploadLimits } from '../spool/limits.ts'
import { BombGuard } from './bomb-guard.ts'

/**
 * What a gzip file holds; several members follow each other, as `cat a.gz b.gz` makes them, and zeros may follow the last.
 * Each member's checksum is checked. Throws SourceProblem ARCHIVE_DAMAGED, TOO_LARGE or SUSPICIOUS_ARCHIVE.
 */
export function gunzipped(file: FileBytes, name: string, limits: UploadLimits): ByteSource {
  return { chunks: () => gunzip(file, name, limits) }
}

async function* gunzip(file: FileBytes, name: string, limits: UploadLimits): AsyncGenerator<Buffer, void, void> {
  const guard = new BombGuard(name, limits)
  const pieces = file.pieces((bytes) => {
    guard.packed = bytes
  })
  const unpacker = createGunzip({ chunkSize: limits.chunkBytes })
  // The error reaches the loop below through the stream itself.
  pipeline(Readable.from(pieces, { highWaterMark: 1 }), unpacker, () => {})
  let unpacked = 0
  try {
    for await (const chunk of unpacker as AsyncIterable<Buffer>) {
      guard.passed(chunk.length)
      unpacked += chunk.length
      yield chunk
    }
  } catch (error) {
    throw damage(error, name, unpacked) ?? error
  }
}

/** The problem that an error of the decompressor stands for. */
function damage(cause: unknown, name: string, unpacked: number): SourceProblem | undefined {
  const { code } = cause as NodeJS.ErrnoException
  if (code !== 'Z_DATA_ERROR' && code !== 'Z_BUF_ERROR') return undefined
  const where = unpacked === 0 ? 'at its start' : `after ${unpacked} unpacked bytes`
  const why =
    code === 'Z_BUF_ERROR'
      ? `ends too early, ${where}; upload it again, whole`
      : (cause as Error).message === 'incorrect header check' && unpacked > 0
        ? `has something that is not gzip behind its end; compress it anew`
        : `is damaged ${where} (${(cause as Error).message}); upload it again`
  return new SourceProblem('ARCHIVE_DAMAGED', `${name} ${why}.`, { cause })
}
