import { closeSync, ftruncate, write } from 'node:fs'
import { promisify } from 'node:util'
import { openUpload } from '@sluice/file-formats/upload/open-upload'
import { parquetSource } from '@sluice/file-formats/parquet/parquet-source'
import { defaultUploadLimits } from '@sluice/file-formats/spool/upload-limits'
import { diskProblem, openSpool, spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { type FileOptions, readOpened } from '@sluice/file-formats/upload/read-upload'
import { type RowStream, type Column, type ReadReporter, SourceProblem } from '@sluice/row-stream'
import { countAttempts, type RetryPolicy, TransientError } from '@sluice/http-client'
import { splitProgress } from '@sluice/file-formats/upload/split-progress'
import type { ObjectStore, StoredObject } from './object-store.ts'

export interface ObjectReading {
  store: ObjectStore
  filesDirectory: string
  options: FileOptions
  /** Columns of the last load, without the columns that identify the object of a row. */
  columnsBefore: readonly Column[]
  retryPolicy: RetryPolicy
  limits?: DownloadLimits
}

/** A downloaded object in an unnamed file. The caller must dispose it to free the disk space. */
export interface LocalObject extends Disposable {
  object: StoredObject
  fd: number
  size: number
}

/** Downloads an object to disk and reports progress in bytes. */
export async function fetchObject(
  reading: ObjectReading,
  object: StoredObject,
  report: Pick<ReadReporter, 'log'> & { onProgress?(bytes: number): void },
  signal: AbortSignal,
  firstBytes?: number,
): Promise<LocalObject> {
  const { store, filesDirectory, retryPolicy, limits = downloadLimits } = reading
  const fd = openSpool(spoolDirectory(filesDirectory))
  let broken = 0
  try {
    const size = await downloadObject(
      {
        store,
        object,
        fd,
        retryPolicy,
        limits,
        ...(firstBytes !== undefined && { firstBytes }),
        onProgress: (bytes) => report.onProgress?.(bytes),
        onResume(at, { message }) {
          broken += 1
          if (broken <= maxLoggedResumes)
            report.log(
              'INFO',
              'MEDIUM',
              `The read of "${object.key}" was interrupted and continues at byte ${at}: ${message}`,
            )
        },
      },
      signal,
    )
    return { object, fd, size, [Symbol.dispose]: () => closeSync(fd) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

/** Returns whether the error means that the object is an empty JSON list. Such an object has no records and no columns. */
export const isEmptyListProblem = (error: unknown): error is SourceProblem =>
  error instanceof SourceProblem && error.code === 'EMPTY_SOURCE'

/** Maximum number of log lines about interrupted connections of one object. */
const maxLoggedResumes = 10

/**
 * Reads a downloaded object as an uploaded file is read. Progress is in bytes of the object. Throws `SourceProblem`, or the
 * reason of the signal after an abort.
 */
export async function* readLocalObject(
  { filesDirectory, options }: Pick<ObjectReading, 'filesDirectory' | 'options'>,
  { object, fd }: LocalObject,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { first: onProgress, onSecondProgress } = splitProgress(report)
  using upload = await openUpload({ path: fd, name: object.key, filesDirectory, options, onProgress }, signal)
  const { file, format } = upload
  const fileReport = { ...report, progress: onSecondProgress(file.size) }
  if (format === 'DELIMITED') return yield* readOpened(upload, options, fileReport, signal)
  if (!upload.inPlace) report.log('INFO', 'LOW', upload.formatSentence)
  yield* parquetSource.read({ path: file.fd, fileName: file.name }, fileReport, signal)
}

export interface DownloadLimits {
  partBytes: number
  /** Number of parts of an object that are downloaded in parallel. */
  concurrency: number
  mostBytes: number
}

const downloadLimits: DownloadLimits = { partBytes: 8 * 1024 * 1024, concurrency: 4, mostBytes: 64 * 1024 ** 3 }

interface ObjectDownload {
  store: ObjectStore
  object: StoredObject
  /** The descriptor of an empty file to write to. */
  fd: number
  /** The number of bytes to download from the start. The default is the whole object. */
  firstBytes?: number
  limits: DownloadLimits
  retryPolicy: RetryPolicy
  /** Called with the total of downloaded bytes. */
  onProgress(bytes: number): void
  /** Called with the position from which the download continues after an interruption. */
  onResume(at: number, problem: Error): void
}

const writeAt = promisify(write)
const truncateFile = promisify(ftruncate)

/**
 * Downloads exactly the listed version of an object into a file, in parallel parts that are resumed after an interruption.
 * Memory use does not depend on the object's size. Returns the size of the file. Throws OBJECT_CHANGED, OBJECT_TOO_LARGE,
 * DISK_FULL, errors of the store, or the reason of the signal; all writes have then ended.
 */
async function downloadObject(options: ObjectDownload, signal: AbortSignal): Promise<number> {
  const { object, limits, onProgress } = options
  const to = Math.min(object.size, options.firstBytes ?? object.size)
  if (to > limits.mostBytes) throw createObjectTooLargeProblem(object, limits)
  const failed = new AbortController()
  const downloadSignal = AbortSignal.any([signal, failed.signal])
  let bytesWritten = 0
  let next = 0
  const onBytes = (bytes: number) => {
    bytesWritten += bytes
    onProgress(bytesWritten)
  }

  async function downloadParts(): Promise<void> {
    while (next < to) {
      const from = next
      next = Math.min(to, from + limits.partBytes)
      await downloadPart({ ...options, onBytes }, from, next, downloadSignal)
    }
  }

  const workers = Math.min(limits.concurrency, Math.ceil(to / limits.partBytes))
  const outcomes = await Promise.allSettled(
    Array.from({ length: workers }, () =>
      downloadParts().catch((error: unknown) => {
        failed.abort(error)
        throw error
      }),
    ),
  )
  signal.throwIfAborted()
  // The other parts were aborted with the first failure as the reason.
  const failure = failed.signal.aborted ? failed.signal.reason : undefined
  if (failure instanceof ContentEncoded) return downloadDecompressed(options, to, signal)
  if (outcomes.some(({ status }) => status === 'rejected')) throw failure
  return to
}

async function downloadPart(
  { store, object, fd, retryPolicy, onBytes, onResume }: ObjectDownload & { onBytes(count: number): void },
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<void> {
  let position = from
  const attempts = countAttempts({ policy: retryPolicy, signal, onRetry: (problem) => onResume(position, problem) })
  while (position < to) {
    const before = position
    try {
      const bytes = await store.open(object, position, to, signal)
      if (bytes.unpacked) {
        await bytes.cancel()
        throw new ContentEncoded()
      }
      let filePosition = bytes.from
      for await (const chunk of bytes.chunks) {
        // A store that does not support ranges returns the whole object.
        const piece = chunk.subarray(Math.max(0, position - filePosition), Math.max(0, to - filePosition))
        filePosition += chunk.length
        if (piece.length > 0) await writeCompletely(fd, piece, position)
        position += piece.length
        onBytes(piece.length)
        if (filePosition > to) break
      }
      if (position < to) throw new TransientError(createConnectionLostProblem(store.host, object))
    } catch (error) {
      if (position > before) attempts.reset()
      await attempts.waitAfter(error)
    }
  }
}

/**
 * Downloads an object that the client decompresses. Ranges and the listed size do not apply to it, so it is downloaded in one
 * piece. After an interruption it is requested again from its start, and the bytes that the file already contains are skipped.
 */
async function downloadDecompressed(
  { store, object, fd, limits, retryPolicy, firstBytes, onProgress, onResume }: ObjectDownload,
  to: number,
  signal: AbortSignal,
): Promise<number> {
  // The compression ratio has the same limit as that of uploads.
  const { ratio, ratioFrom } = defaultUploadLimits
  const maxBytes = Math.min(limits.mostBytes, Math.max(ratioFrom, object.size * ratio))
  await truncateFile(fd, 0)
  let position = 0
  const attempts = countAttempts({ policy: retryPolicy, signal, onRetry: (problem) => onResume(position, problem) })
  for (;;) {
    const before = position
    try {
      const { chunks } = await store.open(object, 0, object.size, signal)
      let filePosition = 0
      for await (const chunk of chunks) {
        const piece = chunk.subarray(Math.max(0, position - filePosition))
        filePosition += chunk.length
        if (piece.length === 0) continue
        if (filePosition > maxBytes) throw createObjectTooLargeProblem(object, limits)
        await writeCompletely(fd, piece, position)
        position += piece.length
        onProgress(Math.min(to, position))
        if (firstBytes !== undefined && position >= firstBytes) return position
      }
      return position
    } catch (error) {
      if (position > before) attempts.reset()
      await attempts.waitAfter(error)
    }
  }
}

async function writeCompletely(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await writeAt(fd, bytes, done, bytes.length - done, position + done)
      done += bytesWritten
    }
  } catch (error) {
    throw diskProblem(error) ?? error
  }
}

/** The store compresses its responses, so the object cannot be downloaded in parts. */
class ContentEncoded extends Error {}

const createConnectionLostProblem = (host: string, { key }: StoredObject) =>
  new SourceProblem(
    'CONNECTION_LOST',
    `The connection to ${host} broke before the end of "${key}". The old data stays; run again.`,
  )

const createObjectTooLargeProblem = ({ key }: StoredObject, { mostBytes }: DownloadLimits) =>
  new SourceProblem(
    'OBJECT_TOO_LARGE',
    `"${key}" is larger than the ${Math.floor(mostBytes / 1024 ** 3)} GB that an object may have. Split it into several objects, and load their folder.`,
  )
