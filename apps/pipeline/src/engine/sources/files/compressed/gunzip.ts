import { createGunzip } from 'node:zlib'
import type { ByteSource, FileBytes } from '../spool/byte-source.ts'
import type { UploadLimits } from '../spool/limits.ts'
import { unpacked } from './unpacked.ts'

/**
 * What a gzip file holds; several members follow each other, as `cat a.gz b.gz` makes them, and zeros may follow the last.
 * Each member's checksum is checked. Throws SourceProblem ARCHIVE_DAMAGED, TOO_LARGE or SUSPICIOUS_ARCHIVE.
 */
export function gunzipped(file: FileBytes, name: string, limits: UploadLimits): ByteSource {
  return { chunks: () => unpacked(file, createGunzip({ chunkSize: limits.chunkBytes }), name, limits) }
}
