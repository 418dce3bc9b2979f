import { closeSync } from 'node:fs'
import { openUpload } from '@sluice/file-formats/upload/open-upload'
import { parquetSource } from '@sluice/file-formats/parquet/parquet-source'
import { openSpool, spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { type FileOptions, readOpened } from '@sluice/file-formats/upload/read-upload'
import { type RowStream, type Column, type ReadReporter, SourceProblem } from '@sluice/row-stream'
import type { RetryPolicy } from '@sluice/http-client'
import { splitProgress } from '@sluice/file-formats/upload/two-step-progress'
import { type DownloadLimits, defaultDownloadLimits, downloadObject, type ObjectDownload } from './download-object.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'

/** The context of all reads of a pipeline's objects. */
export interface ObjectReadContext {
  store: ObjectStore
  filesDirectory: string
  options: FileOptions
  /** The columns of the previous load, without those that identify the object of a row. */
  previousColumns: readonly Column[]
  retryPolicy: RetryPolicy
  limits?: DownloadLimits
}

/** A downloaded object in an unnamed file. Dispose it to free the disk space. */
export interface LocalObject extends Disposable {
  object: StoredObject
  fd: number
  size: number
}

/** Downloads an object to disk, or only its first `firstBytes` bytes. Reports progress in bytes. */
export async function fetchObject(
  context: ObjectReadContext,
  object: StoredObject,
  report: DownloadReporter,
  signal: AbortSignal,
  firstBytes?: number,
): Promise<LocalObject> {
  const fd = openSpool(spoolDirectory(context.filesDirectory))
  try {
    const download = createDownload(context, object, fd, report)
    const size = await downloadObject({ ...download, ...(firstBytes !== undefined && { firstBytes }) }, signal)
    return { object, fd, size, [Symbol.dispose]: () => closeSync(fd) }
  } catch (error) {
    closeSync(fd)
    throw error
  }
}

export type DownloadReporter = Pick<ReadReporter, 'log'> & { onProgress?(bytes: number): void }

/** Returns the options for downloading an object to a file. The first interruptions are logged. */
export function createDownload(
  { store, retryPolicy, limits = defaultDownloadLimits }: ObjectReadContext,
  object: StoredObject,
  fd: number,
  report: DownloadReporter,
): ObjectDownload {
  let interruptionCount = 0
  return {
    store,
    object,
    fd,
    retryPolicy,
    limits,
    onProgress: (bytes) => report.onProgress?.(bytes),
    onResume(position, { message }) {
      interruptionCount += 1
      const text = `The read of "${object.key}" was interrupted and continues at byte ${position}: ${message}`
      if (interruptionCount <= maxLoggedResumes) report.log('INFO', 'MEDIUM', text)
    },
  }
}

/** True if the error means that the object is an empty JSON list, which has no records and no columns. */
export const isEmptyListProblem = (error: unknown): error is SourceProblem =>
  error instanceof SourceProblem && error.code === 'EMPTY_SOURCE'

/** The maximum number of log lines about interrupted downloads of one object. */
const maxLoggedResumes = 10

/**
 * Reads a downloaded object like an uploaded file: first unpacks or converts it if necessary, then reads its rows. Both
 * steps are one half of the progress each. Throws `SourceProblem`, or the signal's reason after an abort.
 */
export async function* readLocalObject(
  { filesDirectory, options }: Pick<ObjectReadContext, 'filesDirectory' | 'options'>,
  { object, fd }: LocalObject,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { reportFirstHalf: onProgress, createSecondReporter } = splitProgress(report)
  using upload = await openUpload({ path: fd, name: object.key, filesDirectory, options, onProgress }, signal)
  const { file, format, inPlace: isReadInPlace, formatSentence } = upload
  const fileReport = { ...report, progress: createSecondReporter(file.size) }
  if (format === 'DELIMITED') return yield* readOpened(upload, options, fileReport, signal)
  // The file was unpacked.
  if (!isReadInPlace) report.log('INFO', 'LOW', formatSentence)
  yield* parquetSource.read({ path: file.fd, fileName: file.name }, fileReport, signal)
}
