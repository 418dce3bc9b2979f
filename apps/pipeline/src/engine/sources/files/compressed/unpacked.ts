import { pipeline, Readable } from 'node:stream'
import type { Transform } from 'node:stream'
import type { FileBytes } from '../spool/byte-source.ts'
import type { UploadLimits } from '../spool/limits.ts'
import { BombGuard } from './bomb-guard.ts'
import { damage } from './damage.ts'

/** What a decompressor makes of a part of a file, chunk by chunk and under guard. `name` is what messages call it. */
export async function* unpacked(
  file: FileBytes,
  decompressor: Transform,
  name: string,
  limits: UploadLimits,
): AsyncGenerator<Buffer, void, void> {
  const guard = new BombGuard(name, limits)
  const pieces = file.pieces((bytes) => {
    guard.packed = bytes
  })
  // An error reaches the loop below through the stream itself.
  pipeline(Readable.from(pieces, { highWaterMark: 1 }), decompressor, () => {})
  try {
    for await (const chunk of decompressor as AsyncIterable<Buffer>) {
      guard.passed(chunk.length)
      yield chunk
    }
  } catch (error) {
    throw damage(error, name, guard.unpacked) ?? error
  }
}
