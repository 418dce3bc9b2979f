import { closeSync } from 'node:fs'
import { openUpload } from '@sluice/file-formats/upload/open-upload'
import { parquetSource } from '@sluice/file-formats/parquet/parquet-source'
import { openSpool, spoolDirectory } from '@sluice/file-formats/spool/spool-file'
import { type FileOptions, readOpened } from '@sluice/file-formats/upload/read-upload'
import { type RowStream, type FeedColumn, type LoadReport, SourceProblem } from '@sluice/row-stream'
import { splitProgress } from '@sluice/file-formats/upload/split-progress'
import { download, type DownloadLimits } from './download.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import type { StoreRetryPolicy } from './transient-error.ts'

export interface ObjectReading {
  store: ObjectStore
  filesDirectory: string
  options: FileOptions
  /** The columns of the last load, without the columns that Sluice adds to name the object of a row. */
  columnsBefore: readonly FeedColumn[]
  retrying: StoreRetryPolicy
  limits?: DownloadLimits
}

/** A downloaded object in an unnamed file. Disposing it frees the disk space. */
export interface LocalObject extends Disposable {
  object: StoredObject
  fd: number
  size: number
}

/** Downloads an object. Progress is reported in bytes. */
export async function fetchObject(
  reading: ObjectReading,
  object: StoredObject,
  report: Pick<LoadReport, 'log'> & { onProgress?(bytes: number): void },
  signal: AbortSignal,
  firstBytes?: number,
): Promise<LocalObject> {
  const { store, filesDirectory, retrying, limits } = reading
  const fd = openSpool(spoolDirectory(filesDirectory))
  let broken = 0
  try {
    const size = await download(
      {
        store,
        object,
        fd,
        retrying,
        ...(limits && { limits }),
        ...(firstBytes !== undefined && { firstBytes }),
        onProgress: (bytes) => report.onProgress?.(bytes),
        onResume(at, { message }) {
          broken += 1
          if (broken <= maxLoggedResumes)
            report.log('INFO', 'MEDIUM', `Reading "${object.key}" goes on at byte ${at}, where it broke: ${message}`)
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

/** Whether an error says that an object is an empty JSON list, which has neither records nor columns. */
export const isEmptyListProblem = (error: unknown): error is SourceProblem =>
  error instanceof SourceProblem && error.code === 'EMPTY_SOURCE'

/** Maximum number of log lines about one object's connections. */
const maxLoggedResumes = 10

/**
 * Reads the contents of an object with the readers of uploads. Progress is in bytes of the object. Throws `SourceProblem`,
 * or the signal's reason.
 */
export async function* readLocalObject(
  { filesDirectory, options }: Pick<ObjectReading, 'filesDirectory' | 'options'>,
  { object, fd }: LocalObject,
  report: LoadReport,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { first: onProgress, second } = splitProgress(report)
  using opened = await openUpload({ path: fd, name: object.key, filesDirectory, options, onProgress }, signal)
  const { file, format } = opened
  const told = { ...report, progress: second(file.size) }
  if (format === 'DELIMITED') return yield* readOpened(opened, options, told, signal)
  if (!opened.inPlace) report.log('INFO', 'LOW', opened.how)
  yield* parquetSource.read({ path: file.fd, fileName: file.name }, told, signal)
}
