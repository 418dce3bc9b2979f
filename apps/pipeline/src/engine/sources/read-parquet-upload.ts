import { closeSync, openSync, readSync } from 'node:fs'
import { openUpload, type Upload } from './files/open-upload.ts'
import { parquetSource } from './files/parquet/parquet-source.ts'
import { isPacked } from './files/recognise.ts'
import type { Feed, Report } from './source.ts'
import { twoHalves } from './two-halves.ts'

/** An uploaded Parquet file, read where it lies; one in gzip or ZIP is unpacked into a spool first. */
export async function* readParquetUpload(
  upload: Omit<Upload, 'options' | 'onProgress' | 'path'> & { path: string },
  report: Report,
  signal: AbortSignal,
): AsyncGenerator<Feed, void, void> {
  const { path, name: fileName } = upload
  if (!looksPacked(path)) return yield* parquetSource.read({ path, fileName }, report, signal)
  const { first, second } = twoHalves(report)
  using opened = await openUpload({ ...upload, wanted: 'PARQUET', onProgress: first }, signal)
  const { fd, size } = opened.file
  report.log('INFO', 'LOW', opened.how)
  yield* parquetSource.read({ path: fd, fileName }, { ...report, progress: second(size) }, signal)
}

/** What cannot be opened is not: whoever reads it says why. */
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
