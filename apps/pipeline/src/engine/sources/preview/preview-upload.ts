import type { DelimitedOptions } from '@sluice/delimited'
import { identifiers } from '../../../identifiers.ts'
import { type OpenedUpload, openUpload, type Upload } from '../files/open-upload.ts'
import type { UploadOptions } from '../files/upload.ts'
import type { RejectedRow } from '../source.ts'
import { previewInThread } from './preview-in-thread.ts'
import type { SourcePreview } from './source-preview.ts'

/** Bytes of rows: more than is looked at. */
const firstBytes = 2 * 1024 * 1024
const mostRejected = 100

/** The first rows of an uploaded file of text, workbook or archive, with what was guessed of it. */
export async function previewUpload(
  upload: Omit<Upload, 'options'>,
  options: DelimitedOptions & UploadOptions,
  most: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  using opened = await openUpload({ ...upload, options, firstBytes, wanted: 'DELIMITED' }, signal)
  const job = { file: opened.file, options: { ...options, ...opened.dialect }, rows: most }
  const { columns, rows, rejected, sample, guesses, notes, description } = await previewInThread(job, signal)
  const given = options.columns ?? []
  const names = identifiers(
    columns.map(({ label }, index) => given.find((one) => one.index === index || one.label === label)?.name ?? label),
  )
  return {
    columns: columns.map(({ label, dataType, precision, scale }, index) => {
      const decimal = precision === undefined ? {} : { precision, scale: scale ?? 0 }
      return { name: names[index]!, label, dataType, ...decimal }
    }),
    rows,
    rejected: await firstRejected(rejected, opened),
    notes: [opened.how, `It is read with ${description}.`, ...notes],
    complete: opened.complete && sample.complete && sample.rows - rejected.length <= rows.length,
    csvGuesses: guesses,
  }
}

/** Those that were found in the rows, then those that were set aside before, up to as many as are shown. */
async function firstRejected(found: readonly RejectedRow[], opened: OpenedUpload): Promise<RejectedRow[]> {
  const first = found.slice(0, mostRejected)
  if (first.length === mostRejected) return first
  for await (const rows of opened.rejects()) {
    first.push(...rows.slice(0, mostRejected - first.length))
    if (first.length === mostRejected) break
  }
  return first
}
