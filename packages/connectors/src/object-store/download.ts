import { ftruncate, write } from 'node:fs'
import { promisify } from 'node:util'
import { diskProblem } from '@sluice/file-formats/spool/spool-file'
import { defaultUploadLimits } from '@sluice/file-formats/spool/limits'
import { SourceProblem } from '@sluice/row-stream'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { TransientError, type StoreRetryPolicy, createRetryCounter } from './transient-error.ts'

export interface DownloadLimits {
  partBytes: number
  /** Number of parts of one object that are downloaded in parallel. */
  atOnce: number
  mostBytes: number
}

export const downloadLimits: DownloadLimits = { partBytes: 8 * 1024 * 1024, atOnce: 4, mostBytes: 64 * 1024 ** 3 }

export interface Download {
  store: ObjectStore
  object: StoredObject
  /** The descriptor of an empty file. */
  fd: number
  /** Downloads only this many bytes, from the start; all if absent. */
  firstBytes?: number
  limits?: DownloadLimits
  retrying: StoreRetryPolicy
  /** Receives the bytes downloaded so far. */
  onProgress?(bytes: number): void
  /** Receives the position at which a broken connection is resumed. */
  onResume?(at: number, problem: SourceProblem): void
}

const writeAt = promisify(write)
const truncate = promisify(ftruncate)

/**
 * Downloads an object into a file: parts in parallel, each resumed where its connection broke, all of the listed version.
 * Returns the file's size. Memory does not depend on the object's size. Throws OBJECT_CHANGED, OBJECT_TOO_LARGE,
 * DISK_FULL, the store's errors, or the signal's reason; no write is in progress at that time.
 */
export async function download(given: Download, signal: AbortSignal): Promise<number> {
  const { object, limits = downloadLimits, onProgress } = given
  const to = Math.min(object.size, given.firstBytes ?? object.size)
  if (to > limits.mostBytes) throw tooLarge(object, limits)
  const failed = new AbortController()
  const both = AbortSignal.any([signal, failed.signal])
  let done = 0
  let next = 0
  const tell = (bytes: number) => {
    done += bytes
    onProgress?.(Math.max(0, done))
  }
  const part = { ...given, limits, tell }

  async function work(): Promise<void> {
    while (next < to) {
      const from = next
      next = Math.min(to, from + limits.partBytes)
      await onePart(part, from, next, both)
    }
  }

  const workers = Math.min(limits.atOnce, Math.ceil(to / limits.partBytes))
  const outcomes = await Promise.allSettled(
    Array.from({ length: workers }, () =>
      work().catch((error: unknown) => {
        failed.abort(error)
        throw error
      }),
    ),
  )
  signal.throwIfAborted()
  // The first failure aborted the others with itself as the reason.
  const wrong = failed.signal.aborted ? failed.signal.reason : undefined
  if (wrong instanceof Unpacked) return wholeUnpacked(part, to, signal)
  if (outcomes.some(({ status }) => status === 'rejected')) throw wrong
  return to
}

type Part = Download & { limits: DownloadLimits; tell(bytes: number): void }

async function onePart(part: Part, from: number, to: number, signal: AbortSignal): Promise<void> {
  const { store, object, fd, retrying, tell, onResume } = part
  const { again, reset } = createRetryCounter(retrying, signal)
  for (let at = from; at < to; ) {
    const began = at
    try {
      const bytes = await store.open(object, at, to, signal)
      if (bytes.unpacked) {
        await bytes.cancel()
        throw new Unpacked()
      }
      let place = bytes.from
      for await (const chunk of bytes.chunks) {
        // A store without range support returns the whole object.
        const piece = chunk.subarray(Math.max(0, at - place), Math.max(0, to - place))
        place += chunk.length
        if (piece.length > 0) await writeWhole(fd, piece, at)
        at += piece.length
        tell(piece.length)
        if (place > to) break
      }
      if (at < to) throw new TransientError(brokeOff(store.host, object))
    } catch (error) {
      if (at > began) reset()
      await again(error)
      onResume?.(at, (error as TransientError).problem)
    }
  }
}

/**
 * Reads a response with a content encoding, which the client decompresses. Ranges and the listed length do not apply to it: it is read
 * in one piece, and after a break it is requested again from the start, without writing the bytes before the break again.
 */
async function wholeUnpacked(part: Part, to: number, signal: AbortSignal): Promise<number> {
  const { store, object, fd, limits, retrying, firstBytes, onResume } = part
  // The compression ratio is limited as for uploads.
  const { ratio, ratioFrom } = defaultUploadLimits
  const mostUnpacked = Math.min(limits.mostBytes, Math.max(ratioFrom, object.size * ratio))
  await truncate(fd, 0)
  const { again, reset } = createRetryCounter(retrying, signal)
  let at = 0
  for (;;) {
    const began = at
    try {
      const { chunks } = await store.open(object, 0, object.size, signal)
      let place = 0
      for await (const chunk of chunks) {
        const piece = chunk.subarray(Math.max(0, at - place))
        place += chunk.length
        if (piece.length === 0) continue
        if (place > mostUnpacked) throw tooLarge(object, limits)
        await writeWhole(fd, piece, at)
        at += piece.length
        part.onProgress?.(Math.min(to, at))
        if (firstBytes !== undefined && at >= firstBytes) return at
      }
      return at
    } catch (error) {
      if (at > began) reset()
      await again(error)
      onResume?.(at, (error as TransientError).problem)
    }
  }
}

async function writeWhole(fd: number, bytes: Uint8Array, position: number): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await writeAt(fd, bytes, done, bytes.length - done, position + done)
      done += bytesWritten
    }
  } catch (error) {
    throw diskProblem(error) ?? error
  }
}

/** Not a failure: signals that the object must be read in another way. */
class Unpacked extends Error {}

const brokeOff = (host: string, { key }: StoredObject) =>
  new SourceProblem('CONNECTION_LOST', `${host} ended "${key}" before its end. The old data stays; run again.`)

const tooLarge = ({ key }: StoredObject, { mostBytes }: DownloadLimits) =>
  new SourceProblem(
    'OBJECT_TOO_LARGE',
    `"${key}" is larger than the ${Math.floor(mostBytes / 1024 ** 3)} GB that one object may have. Write it in several objects, and load the folder.`,
  )
