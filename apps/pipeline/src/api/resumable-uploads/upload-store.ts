import { constants } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { DataStore, Upload } from '@tus/server'
import type { Kysely } from 'kysely'
import { Problem } from '@sluice/http-server'
import { getUploadPath, getUploadsDirectory } from '@sluice/connectors/uploaded-file/upload-path'
import type { DB } from '../../database.ts'
import { syncDirectory, toUploadProblem } from '../../files/receive-file.ts'
import type { UploadLease } from './upload-lease.ts'
import { uploadExpiryHours } from '../../runs/files-in-use.ts'
import { type UploadRow, leaseLost, saveReceived, uploadBytesLost } from './upload-records.ts'

/**
 * The position is stored after this many bytes or milliseconds. If the process crashes, later bytes must be sent again.
 */
const saveBytes = 64 * 1024 * 1024
const saveMs = 5_000

interface UploadStoreOptions {
  db: Kysely<DB>
  directory: string
  lease: UploadLease
  /** Returns the current row. Throws if the upload was deleted. */
  read(): Promise<UploadRow>
  create(): Promise<UploadRow>
  /** Makes the upload the pipeline's file. The file must be complete and durably on disk. */
  finish(row: UploadRow): Promise<void>
  remove(): Promise<void>
  /** Deletes the upload and its bytes after an error that it cannot recover from. */
  discard(row: UploadRow): Promise<void>
}

/** Codes of problems after which an upload cannot continue. */
const discardingCodes: ReadonlySet<string> = new Set(['source-unreadable', 'upload-bytes-lost'])

/** The storage interface of @tus/server, for the single upload of a request. */
export class UploadStore extends DataStore {
  readonly #options: UploadStoreOptions

  constructor(options: UploadStoreOptions) {
    super()
    this.#options = options
    this.extensions = ['creation', 'termination', 'expiration']
  }

  override async create(upload: Upload): Promise<Upload> {
    upload.creation_date = (await this.#options.create()).touched_at.toISOString()
    return upload
  }

  /** Sets `creation_date` to the time of the last received byte, because the library adds the expiry period to it. */
  override async getUpload(): Promise<Upload> {
    const { uid, length, received, touched_at } = await this.#options.read()
    return new Upload({ id: uid, size: length, offset: received, creation_date: touched_at.toISOString() })
  }

  override getExpiration(): number {
    return uploadExpiryHours * 3_600_000
  }

  override remove(): Promise<void> {
    return this.#options.remove()
  }

  /**
   * Appends the stream and returns the new offset. If this fails, the bytes written so far count, and the caller
   * continues after them.
   */
  override async write(stream: Readable, _id: string, offset: number): Promise<number> {
    const { read, finish, discard } = this.#options
    const row = await read()
    if (row.finished_at) return offset
    try {
      const end = await this.#append(stream, row, offset).catch((error: unknown) => {
        throw toUploadProblem(error)
      })
      if (end === row.length) await finish(row)
      return end
    } catch (error) {
      if (error instanceof Problem && discardingCodes.has(error.code)) await discard(row)
      throw error
    }
  }

  async #append(stream: Readable, { uid, length, received }: UploadRow, offset: number): Promise<number> {
    const { db, directory, lease } = this.#options
    await using file = await (offset === 0
      ? createPartialFile(directory, uid)
      : openPartialFile(directory, uid, offset))
    let position = offset
    let savedPosition = received
    let savedAt = performance.now()
    const savePosition = async () => {
      await file.datasync()
      // The last byte counts only when the upload is finished, so that the caller can send it again after a failure.
      savedPosition = Math.min(position, length - 1)
      if (savedPosition > received || position > offset) await saveReceived(db, uid, lease.id, savedPosition)
      savedAt = performance.now()
    }
    try {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        // Check the lease before each write, because another request may hold it after this process was suspended.
        if (!lease.isHeld()) throw leaseLost()
        await writeAll(file, chunk, position)
        position += chunk.length
        const isSaveDue = position - savedPosition >= saveBytes || performance.now() - savedAt >= saveMs
        if (isSaveDue) await savePosition()
      }
      // The lease is lost if the pipeline was deleted or this process was suspended.
      if (!lease.isHeld()) throw leaseLost()
    } finally {
      if (position > savedPosition && lease.isHeld()) await savePosition()
    }
    return position
  }
}

async function createPartialFile(directory: string, uid: string): Promise<FileHandle> {
  const folder = getUploadsDirectory(directory)
  await mkdir(folder, { recursive: true })
  const file = await open(getUploadPath(directory, uid), constants.O_RDWR | constants.O_CREAT, 0o600)
  await syncDirectory(folder)
  return file
}

/**
 * Opens the file of an upload that has `received` bytes. Throws 410 if the file is shorter, for example after the
 * directory was restored from a backup, because a write after its end would fill the gap with zeros.
 */
async function openPartialFile(directory: string, uid: string, received: number): Promise<FileHandle> {
  const file = await open(getUploadPath(directory, uid), constants.O_RDWR).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? uploadBytesLost() : error
  })
  if ((await file.stat()).size >= received) return file
  await file.close()
  throw uploadBytesLost()
}

/** Writes all bytes. A single call of `FileHandle.write` may write only a part of them. */
async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let written = 0
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written)
    written += bytesWritten
  }
}
