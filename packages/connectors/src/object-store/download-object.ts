import { ftruncate, write } from 'node:fs'
import { promisify } from 'node:util'
import { defaultUploadLimits } from '@sluice/file-formats/spool/upload-limits'
import { diskProblem } from '@sluice/file-formats/spool/spool-file'
import { createBackoff, type RetryPolicy, TransientError } from '@sluice/http-client'
import { SourceProblem } from '@sluice/row-stream'
import type { ObjectStore, StoredObject } from './object-store.ts'

export interface DownloadLimits {
  partBytes: number
  /** The number of parts of an object that are downloaded in parallel. */
  concurrency: number
  maxObjectBytes: number
  /**
   * The maximum bytes of a folder's objects that are kept on disk. Further objects are downloaded each time they are
   * read.
   */
  spoolBytes: number
}

export const defaultDownloadLimits: DownloadLimits = {
  partBytes: 8 * 1024 * 1024,
  concurrency: 4,
  maxObjectBytes: 64 * 1024 ** 3,
  spoolBytes: 4 * 1024 ** 3,
}

export interface ObjectDownload {
  store: ObjectStore
  object: StoredObject
  /**
   * The descriptor of the file to write to, and the position of the first byte in it. Required if the file is not
   * empty.
   */
  fd: number
  position?: number
  /** Memory for the bytes of a small object. If set, they are not written to the file. */
  memory?: Buffer
  /** The number of bytes to download from the object's start. Default: the whole object. */
  firstBytes?: number
  limits: DownloadLimits
  retryPolicy: RetryPolicy
  /** Called with the total bytes downloaded until now. */
  onProgress(bytes: number): void
  /** Called when a download continues after an interruption, with the position at which it continues. */
  onResume(position: number, problem: Error): void
}

const writeAt = promisify(write)
const truncateFile = promisify(ftruncate)

/**
 * Downloads exactly the listed version of an object into an empty file. Memory use does not depend on the object's
 * size. Returns the file size. Throws OBJECT_CHANGED, OBJECT_TOO_LARGE, DISK_FULL, errors of the store, or the signal's
 * reason; by then, all writes have ended.
 */
export async function downloadObject(options: ObjectDownload, signal: AbortSignal): Promise<number> {
  try {
    return await downloadStoredBytes(options, signal)
  } catch (error) {
    if (!(error instanceof ContentEncoded)) throw error
    const { object, firstBytes = object.size } = options
    return downloadDecompressed(options, Math.min(object.size, firstBytes), signal)
  }
}

/**
 * Downloads the listed version as it is stored, in parallel parts that continue after an interruption. Returns the
 * number of bytes. Throws `ContentEncoded` if the store compresses its responses, and otherwise the errors of
 * `downloadObject`.
 */
export async function downloadStoredBytes(options: ObjectDownload, signal: AbortSignal): Promise<number> {
  const { object, limits, onProgress } = options
  const byteCount = Math.min(object.size, options.firstBytes ?? object.size)
  if (byteCount > limits.maxObjectBytes) throw createObjectTooLargeProblem(object, limits)
  let bytesWritten = 0
  const onBytes = (bytes: number) => {
    bytesWritten += bytes
    onProgress(bytesWritten)
  }
  const download = { ...options, onBytes }
  // The most frequent case has no combined abort signal, which `downloadInParts` creates, because it is expensive.
  if (byteCount <= limits.partBytes) await downloadPart(download, 0, byteCount, signal)
  else await downloadInParts(download, byteCount, signal)
  signal.throwIfAborted()
  return byteCount
}

type PartDownload = ObjectDownload & { onBytes(count: number): void }

/** Downloads the first `end` bytes in parallel parts. All parts have ended when it throws. */
async function downloadInParts(download: PartDownload, end: number, signal: AbortSignal): Promise<void> {
  const { partBytes, concurrency } = download.limits
  const failureController = new AbortController()
  const downloadSignal = AbortSignal.any([signal, failureController.signal])
  let nextStart = 0

  /** Downloads the next part that no other worker has started, until all are started. */
  async function downloadParts(): Promise<void> {
    while (nextStart < end) {
      const start = nextStart
      nextStart = Math.min(end, start + partBytes)
      await downloadPart(download, start, nextStart, downloadSignal)
    }
  }

  async function runWorker(): Promise<void> {
    try {
      await downloadParts()
    } catch (error) {
      failureController.abort(error)
      throw error
    }
  }

  const workerCount = Math.min(concurrency, Math.ceil(end / partBytes))
  const outcomes = await Promise.allSettled(Array.from({ length: workerCount }, runWorker))
  signal.throwIfAborted()
  // The first failure aborted the other parts, so it is the reason of this signal.
  if (outcomes.some(({ status }) => status === 'rejected')) throw failureController.signal.reason
}

/**
 * Downloads the bytes `from` to `to` to the file or to `memory`. After an interruption, continues at the first missing
 * byte; progress resets the count of attempts. Throws `ContentEncoded` if the store compresses the response.
 */
async function downloadPart(
  { store, object, fd, position: fileOffset = 0, memory, retryPolicy, onBytes, onResume }: PartDownload,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<void> {
  let position = from
  const backoff = createBackoff({ policy: retryPolicy, signal, onRetry: (problem) => onResume(position, problem) })
  while (position < to) {
    const attemptStart = position
    try {
      for await (const bytes of requestBytes(store, object, position, to, signal)) {
        if (memory) memory.set(bytes, position)
        else if (bytes.length > 0) await writeCompletely(fd, bytes, fileOffset + position)
        position += bytes.length
        onBytes(bytes.length)
      }
      if (position < to) throw new TransientError(createConnectionLostProblem(store.host, object))
    } catch (error) {
      const hasProgressed = position > attemptStart
      if (hasProgressed) backoff.reset()
      await backoff.waitOrThrow(error)
    }
  }
}

/** Yields the bytes `from` to `to` of an object. Throws `ContentEncoded` if the store compresses the response. */
async function* requestBytes(
  store: ObjectStore,
  object: StoredObject,
  from: number,
  to: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const response = await store.open(object, from, to, signal)
  if (response.isDecompressed) {
    await response.cancel()
    throw new ContentEncoded()
  }
  // A store that does not support byte ranges returns the whole object, so other bytes are skipped.
  let chunkStart = response.from
  for await (const chunk of response.chunks) {
    yield chunk.subarray(Math.max(0, from - chunkStart), Math.max(0, to - chunkStart))
    chunkStart += chunk.length
    if (chunkStart > to) return
  }
}

/**
 * Downloads an object that the store sends compressed and the HTTP client decompresses. Byte ranges and the listed size
 * do not apply to the decompressed bytes, so it is downloaded in one piece. After an interruption it is requested from
 * the start, and bytes that the file already contains are skipped. Stops after `firstBytes` if they are set. Returns
 * the size of the file. Progress is at most `progressEnd`, because the size of the decompressed object is unknown.
 */
async function downloadDecompressed(
  { store, object, fd, limits, retryPolicy, firstBytes, onProgress, onResume }: ObjectDownload,
  progressEnd: number,
  signal: AbortSignal,
): Promise<number> {
  // The compression ratio has the same limit as in uploads.
  const { ratio, ratioFrom } = defaultUploadLimits
  const maxBytes = Math.min(limits.maxObjectBytes, Math.max(ratioFrom, object.size * ratio))
  await truncateFile(fd, 0)
  let fileSize = 0
  const backoff = createBackoff({ policy: retryPolicy, signal, onRetry: (problem) => onResume(fileSize, problem) })
  for (;;) {
    const sizeBeforeAttempt = fileSize
    try {
      const { chunks } = await store.open(object, 0, object.size, signal)
      let receivedBytes = 0
      for await (const chunk of chunks) {
        const newBytes = chunk.subarray(Math.max(0, fileSize - receivedBytes))
        receivedBytes += chunk.length
        if (newBytes.length === 0) continue
        if (receivedBytes > maxBytes) throw createObjectTooLargeProblem(object, limits)
        await writeCompletely(fd, newBytes, fileSize)
        fileSize += newBytes.length
        onProgress(Math.min(progressEnd, fileSize))
        if (firstBytes !== undefined && fileSize >= firstBytes) return fileSize
      }
      return fileSize
    } catch (error) {
      const hasProgressed = fileSize > sizeBeforeAttempt
      if (hasProgressed) backoff.reset()
      await backoff.waitOrThrow(error)
    }
  }
}

/** Writes all bytes at a position of a file. Throws DISK_FULL. */
export async function writeCompletely(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  try {
    let writtenCount = 0
    while (writtenCount < bytes.length) {
      const remainingCount = bytes.length - writtenCount
      const { bytesWritten } = await writeAt(fd, bytes, writtenCount, remainingCount, position + writtenCount)
      writtenCount += bytesWritten
    }
  } catch (error) {
    throw diskProblem(error) ?? error
  }
}

/** Thrown if the store compresses its responses, so that the object cannot be downloaded in parts. */
export class ContentEncoded extends Error {}

const createConnectionLostProblem = (host: string, { key }: StoredObject) =>
  new SourceProblem(
    'CONNECTION_LOST',
    `The connection to ${host} broke before the end of "${key}". The old data stays; run again.`,
  )

const createObjectTooLargeProblem = ({ key }: StoredObject, { maxObjectBytes }: DownloadLimits) =>
  new SourceProblem(
    'OBJECT_TOO_LARGE',
    `"${key}" is larger than the ${Math.floor(maxObjectBytes / 1024 ** 3)} GB that an object may have. Split it into several objects, and load their folder.`,
  )
