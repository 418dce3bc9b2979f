import { open } from 'node:fs/promises'
import { upload, type ServiceClient } from '@sluice/client'
import { dataPipelines, type UploadedFile } from '@sluice/client/pipeline'
import { UserError } from '../user-error.ts'

export interface SourceFile {
  path: string
  /** The name of the file at the service. */
  name: string
  /** Bytes. */
  size: number
}

/** Returns the size of a file. Throws UserError if it is missing, unreadable, empty or not a regular file. */
export async function inspectUploadFile(path: string, name: string): Promise<SourceFile> {
  try {
    await using handle = await open(path)
    const info = await handle.stat()
    if (!info.isFile()) throw new UserError(`${path} is not a file. Give the path of a file (CSV, JSON or Excel).`)
    if (info.size === 0) throw new UserError(`${path} is empty. Give the path of a file with rows.`)
    return { path, name, size: info.size }
  } catch (error) {
    if (error instanceof UserError) throw error
    const { code } = error as NodeJS.ErrnoException
    const reason = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`
    throw new UserError(`${path} ${reason}. Give the path of a file (CSV, JSON or Excel).`)
  }
}

/** Streams the first `size` bytes of the file. A growing file is uploaded up to its size at the start. */
export async function uploadFile(
  pipeline: ServiceClient,
  uid: string,
  { path, name, size }: SourceFile,
  { sent, signal }: { sent: (bytes: number) => void; signal?: AbortSignal | undefined },
): Promise<UploadedFile> {
  await using handle = await open(path)
  return await upload(pipeline, dataPipelines.upload, {
    params: { uid },
    query: { name: name.slice(-255) },
    body: handle.createReadStream({ end: size - 1, highWaterMark: 256 * 1024, autoClose: false }),
    size,
    onProgress: sent,
    signal,
  })
}
