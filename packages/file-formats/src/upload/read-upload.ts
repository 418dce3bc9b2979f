import type { CsvOptions } from '@sluice/contracts'
import type { PreviousDialect } from '../delimited/dialect/delimited-options.ts'
import { csvSource } from '../csv/csv-source.ts'
import { type OpenedUpload, openUpload, type UploadToOpen } from './open-upload.ts'
import {
  emptyRowStream,
  type Column,
  type ReadReporter,
  type RowStream,
  SourceProblem,
  describeTooManyRejected,
} from '@sluice/row-stream'
import { splitProgress } from './two-step-progress.ts'
import { closeSync, openSync, readSync } from 'node:fs'
import { parquetSource } from '../parquet/parquet-source.ts'
import { isPacked } from '../format/detect-format.ts'

/**
 * The user's options for a file. `previousDialect` is what earlier loads have determined. With `observeAllRows`, all
 * rows are read before the types are inferred.
 */
export type FileOptions = CsvOptions & { previousDialect?: PreviousDialect; observeAllRows?: boolean }

/**
 * Reads an uploaded file in any supported format except Parquet: converts it to delimited text if necessary, and reads
 * that text. `columnsBefore` are the columns of the previous load: an empty JSON list has these columns and no rows.
 */
export async function* readUpload(
  upload: Omit<UploadToOpen, 'options' | 'onProgress'>,
  { columnsBefore = [], ...options }: FileOptions & { columnsBefore?: Column[] },
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { reportFirstHalf: onProgress, createSecondReporter } = splitProgress(report)
  const uploadToOpen = { ...upload, options, expectedFormat: 'DELIMITED' as const, onProgress }
  using opened = await openUpload(uploadToOpen, signal).catch((error: unknown) => {
    const isEmptyList = error instanceof SourceProblem && error.code === 'EMPTY_SOURCE'
    if (isEmptyList && columnsBefore.length > 0) return undefined
    throw error
  })
  if (!opened) return yield emptyRowStream('', columnsBefore)
  yield* readOpened(opened, options, { ...report, progress: createSecondReporter(opened.file.size) }, signal)
}

/** Reads an upload that is already open. Progress is in bytes of the opened file. */
export async function* readOpened(
  opened: OpenedUpload,
  { observeAllRows, ...options }: FileOptions,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { fd, name } = opened.file
  if (!opened.inPlace) report.log('INFO', 'LOW', opened.formatSentence)

  let firstRejection: string | undefined
  /** Reports the rows that the conversion rejected. Only the first of them are stored; the others are only counted. */
  const reportRejects = async () => {
    let storedRows = 0
    for await (const rows of opened.rejects()) {
      firstRejection ??= `line ${rows[0]!.line}: ${rows[0]!.reason}`
      for (const row of rows) report.reject(row)
      storedRows += rows.length
      signal.throwIfAborted()
    }
    if (opened.rejected > storedRows) report.rejectMore(opened.rejected - storedRows)
  }
  const uploadReport: ReadReporter = {
    ...report,
    async startOver() {
      await report.startOver()
      await reportRejects()
    },
  }
  await reportRejects()
  // If the conversion has rejected too many rows, the load fails before the converted rows are read.
  const rejections = { count: opened.rejected, first: firstRejection }
  const tooMany = opened.written === undefined ? undefined : describeTooManyRejected(opened.written, rejections)
  if (tooMany !== undefined) throw new SourceProblem('TOO_MANY_REJECTED_ROWS', tooMany)
  const config = {
    ...options,
    ...opened.dialect,
    path: fd,
    fileName: name,
    isRewritten: opened.dialect !== undefined,
    reportOddValues: true,
    ...(observeAllRows && { observeAllRows }),
  }
  for await (const rowStream of csvSource.read(config, uploadReport, signal))
    yield {
      ...rowStream,
      ...(opened.sparse && { sparse: true }),
      ...(opened.unread !== undefined && { unread: [opened.unread, rowStream.unread].filter(Boolean).join(' ') }),
    }
}

/** Reads an uploaded Parquet file in place. Inside gzip or ZIP, it is first unpacked to a temporary file. */
export async function* readParquetUpload(
  upload: Omit<UploadToOpen, 'options' | 'onProgress' | 'path'> & { path: string },
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { path, name: fileName } = upload
  if (!isPackedFile(path)) return yield* parquetSource.read({ path, fileName }, report, signal)
  const { reportFirstHalf: onProgress, createSecondReporter } = splitProgress(report)
  using opened = await openUpload({ ...upload, expectedFormat: 'PARQUET', onProgress }, signal)
  const { fd, size } = opened.file
  report.log('INFO', 'LOW', opened.formatSentence)
  yield* parquetSource.read({ path: fd, fileName }, { ...report, progress: createSecondReporter(size) }, signal)
}

/** True if the file is gzip or ZIP. False for a file that cannot be opened; the reader then reports the error. */
function isPackedFile(path: string): boolean {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    const start = Buffer.alloc(4)
    readSync(descriptor, start, 0, start.length, 0)
    return isPacked(start)
  } catch {
    return false
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
