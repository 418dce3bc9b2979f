import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { Problem, problems } from '@sluice/http-server'
import { getUploadPath, getUploadsDirectory } from '@sluice/connectors/uploaded-file/upload-path'

export interface ReceivedFile {
  size: number
  /** The SHA-256 of the bytes, in hexadecimal. */
  sha256: string
  /** Removes the file. */
  discard(): Promise<void>
}

/**
 * Writes the chunks of a request body to a file in the upload directory, in constant memory. Returns when the bytes are
 * durably on disk. Until then the file has another name, so that no one reads a partial file. After an error, the file
 * is removed.
 */
export async function receiveFile(
  chunks: AsyncIterable<Buffer>,
  { directory, uploadLimit }: { directory: string; uploadLimit: number },
  uid: string,
): Promise<ReceivedFile> {
  const path = getUploadPath(directory, uid)
  const partialPath = `${path}.partial`
  const hash = createHash('sha256')
  let size = 0
  try {
    await mkdir(getUploadsDirectory(directory), { recursive: true })
    const file = await open(partialPath, 'wx', 0o600)
    try {
      for await (const chunk of chunks) {
        size += chunk.length
        if (size > uploadLimit) throw problems.tooLarge(uploadLimit)
        hash.update(chunk)
        // `appendFile` writes all bytes or throws; `write` may write only a part of them.
        await file.appendFile(chunk)
      }
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(partialPath, path)
    await syncDirectory(getUploadsDirectory(directory))
  } catch (error) {
    await rm(partialPath, { force: true }).catch(() => {})
    throw toUploadProblem(error)
  }
  return { size, sha256: hash.digest('hex'), discard: () => rm(path, { force: true }) }
}

/** Flushes a directory to disk, so that a rename in it survives a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, 'r')
  await directory.sync()
}

/** Converts an error of writing a file to a problem. Returns other errors unchanged. */
export function toUploadProblem(error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new Problem(503, 'upload-disk-full', 'The disk has no space for the file.', {
        detail:
          'The disk of the service is full: ask its operator to free some space, then upload again. The pipeline keeps its current file.',
        headers: { 'Retry-After': '60' },
        cause: error,
      })
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return new Problem(503, 'upload-disk-not-writable', 'The file cannot be written.', {
        detail:
          'The service cannot write to its disk: ask its operator to check FILES_DIRECTORY, then upload again. The pipeline keeps its current file.',
        headers: { 'Retry-After': '60' },
        cause: error,
      })
    case 'ECONNRESET':
    case 'ERR_STREAM_PREMATURE_CLOSE':
      return problems.unreadableBody('The upload was interrupted, and nothing was stored. Upload the file again.')
    default:
      return error
  }
}
