import { closeSync, mkdirSync, openSync, readdirSync, unlinkSync, writeSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { SourceProblem } from '@sluice/row-stream'

/**
 * The directory of spool files: temporary files for uploads and downloads. They have no name there, so a listing does
 * not show them.
 */
export const spoolDirectory = (filesDirectory: string): string => join(filesDirectory, 'spool')

/**
 * Creates a temporary file without a name, so its disk space is freed when the process ends for any reason. Returns the
 * descriptor, for reading and writing at positions. Throws SourceProblem DISK_FULL or SPOOL_NOT_WRITABLE.
 */
export function openSpool(directory: string): number {
  try {
    const path = createSpoolPath(directory)
    const descriptor = openSync(path, 'wx+', 0o600)
    try {
      removeIfExists(path)
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
    return descriptor
  } catch (error) {
    throw createSpoolProblem(error)
  }
}

/**
 * Creates a temporary file without a name, as `openSpool` does, and returns it as a file handle, which can be sent to
 * another thread. The caller must close it.
 */
export async function openSpoolFile(directory: string): Promise<FileHandle> {
  try {
    const path = createSpoolPath(directory)
    const file = await open(path, 'wx+', 0o600)
    try {
      removeIfExists(path)
    } catch (error) {
      await file.close()
      throw error
    }
    return file
  } catch (error) {
    throw createSpoolProblem(error)
  }
}

/** Creates the directory if necessary, and deletes old files in it. Returns a path for a new file. */
function createSpoolPath(directory: string): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  deleteLeftoverNames(directory)
  return join(directory, randomUUID())
}

const createSpoolProblem = (cause: unknown): SourceProblem =>
  diskProblem(cause) ??
  new SourceProblem(
    'SPOOL_NOT_WRITABLE',
    'The service cannot create files in its folder. An operator must correct the permissions of FILES_DIRECTORY.',
    { cause },
  )

/**
 * Deletes all names in the directory. A spool file has a name only for a moment after its creation, so each name is
 * either left from a crash or about to be deleted by its creator.
 */
function deleteLeftoverNames(directory: string): void {
  for (const name of readdirSync(directory)) removeIfExists(join(directory, name))
}

function removeIfExists(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

const diskFullCodes = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Returns the problem for a write error that means a full disk, or undefined for other errors. */
export function diskProblem(error: unknown): SourceProblem | undefined {
  if (!diskFullCodes.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
  const text =
    'The disk of the service is full, so a temporary file could not be written. An operator must free space for FILES_DIRECTORY.'
  return new SourceProblem('DISK_FULL', text, { cause: error })
}

/** Writes all bytes to a spool file at a position. Throws SourceProblem DISK_FULL. */
export function writeSpool(descriptor: number, bytes: Uint8Array, position: number): void {
  try {
    for (let bytesWritten = 0; bytesWritten < bytes.length; )
      bytesWritten += writeSync(descriptor, bytes, bytesWritten, bytes.length - bytesWritten, position + bytesWritten)
  } catch (error) {
    throw diskProblem(error) ?? error
  }
}

/** Unnamed temporary files for converting one upload. Disposing closes them, which frees their disk space. */
export class ScratchFiles implements Disposable {
  readonly #directory: string
  readonly #descriptors: number[] = []

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Creates a temporary file. Throws SourceProblem DISK_FULL or SPOOL_NOT_WRITABLE. */
  open(): number {
    const descriptor = openSpool(this.#directory)
    this.#descriptors.push(descriptor)
    return descriptor
  }

  [Symbol.dispose](): void {
    for (const descriptor of this.#descriptors.splice(0)) closeSync(descriptor)
  }
}
