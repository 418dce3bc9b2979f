import { open } from 'node:fs/promises'
import { upload, type ServiceClient } from '@sluice/client'
import { dataPipelines, type UploadedFile } from '@sluice/client/pipeline'
import { UserError } from '../user-error.ts'

export interface CsvFile {
  path: string
  /** The name of the file at the service. */
  name: string
  /** Bytes. */
  size: number
}

/** Throws UserError if the file cannot be loaded. */
export async function inspectUploadFile(path: string, name: string): Promise<CsvFile> {
  try {
    await using handle = await open(path)
    const found = await handle.stat()
    if (!found.isFile()) throw new UserError(`${path} is not a file: give the path of a file (CSV, JSON or Excel).`)
    if (found.size === 0) throw new UserError(`${path} is empty: there is nothing to load.`)
    return { path, name, size: found.size }
  } catch (error) {
    if (error instanceof UserError) throw error
    const { code } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`
    throw new UserError(`${path} ${why}: give the path of a file (CSV, JSON or Excel).`)
  }
}

/** Streams the first `size` bytes of the file. A growing file is uploaded up to its size at the start. */
export async function uploadFile(
  pipeline: ServiceClient,
  uid: string,
  { path, name, size }: CsvFile,
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
