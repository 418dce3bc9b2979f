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
  tooManyRejected,
} from '@sluice/row-stream'
import { splitProgress } from './split-progress.ts'
import { closeSync, openSync, readSync } from 'node:fs'
import { parquetSource } from '../parquet/parquet-source.ts'
import { isPacked } from '../format/detect-format.ts'

/** The user's options for a file, and what earlier loads have determined. */
export type FileOptions = CsvOptions & { remembered?: PreviousDialect; lookAtAll?: boolean }

/**
 * Reads an uploaded file in any supported format except Parquet: converts it to delimited text if necessary, then reads
 * that text. An empty JSON list gets the columns of the last load, `columnsBefore`.
 */
export async function* readUpload(
  upload: Omit<UploadToOpen, 'options' | 'onProgress'>,
  { columnsBefore = [], ...options }: FileOptions & { columnsBefore?: Column[] },
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { first: onProgress, onSecondProgress } = splitProgress(report)
  const openedUpload = await openUpload({ ...upload, options, expectedFormat: 'DELIMITED', onProgress }, signal).catch(
    (error: unknown) => {
      if (columnsBefore.length > 0 && error instanceof SourceProblem && error.code === 'EMPTY_SOURCE') return undefined
      throw error
    },
  )
  if (!openedUpload) return yield emptyRowStream('', columnsBefore)
  using opened = openedUpload
  yield* readOpened(opened, options, { ...report, progress: onSecondProgress(opened.file.size) }, signal)
}

/** Reads an upload that is already open. Progress is in bytes of the opened file. */
export async function* readOpened(
  opened: OpenedUpload,
  { lookAtAll, ...options }: FileOptions,
  report: ReadReporter,
  signal: AbortSignal,
): AsyncGenerator<RowStream, void, void> {
  const { fd, name } = opened.file
  if (!opened.inPlace) report.log('INFO', 'LOW', opened.formatSentence)

  let first: string | undefined
  const reportRejects = async () => {
    let kept = 0
    for await (const rows of opened.rejects()) {
      first ??= `line ${rows[0]!.line}: ${rows[0]!.reason}`
      for (const row of rows) report.reject(row)
      kept += rows.length
      signal.throwIfAborted()
    }
    if (opened.rejected > kept) report.rejectMore(opened.rejected - kept)
  }
  const uploadReport: ReadReporter = {
    ...report,
    async startOver() {
      await report.startOver()
      await reportRejects()
    },
  }
  await reportRejects()
  // Rows that the conversion rejected cannot be loaded. If there are already too many of them, fail before the converted
  // rows are read.
  const tooMany = opened.written !== undefined && tooManyRejected(opened.written, { count: opened.rejected, first })
  if (tooMany) throw new SourceProblem('TOO_MANY_REJECTED_ROWS', tooMany)
  const config = {
    ...options,
    ...opened.dialect,
    path: fd,
    fileName: name,
    isRewritten: opened.dialect !== undefined,
    reportOddValues: true,
    ...(lookAtAll && { lookAtAll }),
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
  if (!looksPacked(path)) return yield* parquetSource.read({ path, fileName }, report, signal)
  const { first, onSecondProgress } = splitProgress(report)
  using opened = await openUpload({ ...upload, expectedFormat: 'PARQUET', onProgress: first }, signal)
  const { fd, size } = opened.file
  report.log('INFO', 'LOW', opened.formatSentence)
  yield* parquetSource.read({ path: fd, fileName }, { ...report, progress: onSecondProgress(size) }, signal)
}

/** True if the file is gzip or ZIP. False for a file that cannot be opened; the reader then reports the error. */
function looksPacked(path: string): boolean {
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
