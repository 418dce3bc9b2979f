import type { CsvOptions } from '@sluice/contracts'
import { csvSource } from './files/csv/csv-source.ts'
import { openUpload, type Upload } from './files/open-upload.ts'
import { tooManyRejected } from '../tolerated-rejects.ts'
import { type Feed, type Report, SourceProblem } from './source.ts'

/** An uploaded file of rows, whatever it is written as: opened as plain text, then read like any delimited file. */
export async function* readUpload(
  upload: Omit<Upload, 'options' | 'onProgress'>,
  options: CsvOptions,
  report: Report,
  signal: AbortSignal,
): AsyncGenerator<Feed, void, void> {
  // Writing it anew is the first half of the way, and reading that the second, told in bytes of the upload.
  let uploadSize: number | undefined
  const onProgress = (bytesRead: number, bytesTotal: number) => {
    uploadSize = bytesTotal
    report.progress({ bytesRead: Math.floor(bytesRead / 2), bytesTotal })
  }
  using opened = await openUpload({ ...upload, options, onProgress }, signal)
  if (opened.format === 'PARQUET') throw isParquet(upload.name)
  const { fd, size, name } = opened.file
  if (!opened.inPlace) report.log('INFO', 'LOW', opened.how)

  let first: string | undefined
  const tellRejects = async () => {
    let kept = 0
    for await (const rows of opened.rejects()) {
      first ??= `line ${rows[0]!.line}: ${rows[0]!.reason}`
      for (const row of rows) report.reject(row)
      kept += rows.length
      signal.throwIfAborted()
    }
    if (opened.rejected > kept) report.rejectMore(opened.rejected - kept)
  }
  const told: Report = {
    ...report,
    progress(counts) {
      if (opened.inPlace || uploadSize === undefined || counts.bytesRead === undefined) return report.progress(counts)
      const share = size === 0 ? 1 : Math.min(1, counts.bytesRead / size)
      report.progress({ ...counts, bytesRead: Math.floor((uploadSize * (1 + share)) / 2), bytesTotal: uploadSize })
    },
    async startOver() {
      await report.startOver()
      await tellRejects()
    },
  }
  await tellRejects()
  // What was written is all that can still fit: what is too much already need not be loaded first.
  const tooMany = opened.written !== undefined && tooManyRejected(opened.written, { count: opened.rejected, first })
  if (tooMany) throw new SourceProblem('TOO_MANY_REJECTED_ROWS', tooMany)
  yield* csvSource.read({ ...options, ...opened.dialect, path: fd, fileName: name }, told, signal)
}

export const isParquet = (name: string) =>
  new SourceProblem('PARQUET_UPLOADED', `${name} is a Parquet file: make a PARQUET_UPLOAD pipeline for it.`)
