import type { DelimitedOptions } from '../delimited/dialect/delimited-options.ts'
import {
  toUniqueIdentifiers,
  likelyRejected,
  type RejectedRow,
  type StoredType,
  tooManyRejected,
} from '@sluice/row-stream'
import { type OpenedUpload, openUpload, type UploadToOpen } from '../upload/open-upload.ts'
import type { UploadOptions } from '../format/upload-options.ts'
import type { DelimitedPreview, PreviewJob } from '../delimited/sample/preview-rows.ts'
import { startReaderThread } from '../start-reader-thread.ts'
import { maxPreviewCharacters, readTuples } from '../cells/read-tuples.ts'
import type { PreviewCell, SourcePreview } from './source-preview.ts'

/** The bytes of rows that are read, which are more than the preview examines. */
const firstBytes = 2 * 1024 * 1024
const maxRejected = 100

/** Returns the first rows of an uploaded text file, workbook or archive, with the detected settings. */
export async function previewUpload(
  upload: Omit<UploadToOpen, 'options'>,
  options: DelimitedOptions & UploadOptions,
  maxRows: number,
  signal: AbortSignal,
): Promise<SourcePreview> {
  using opened = await openUpload({ ...upload, options, firstBytes, expectedFormat: 'DELIMITED' }, signal)
  const job = { file: opened.file, options: { ...options, ...opened.dialect }, rows: maxRows }
  const preview = await previewInThread(job, signal)
  const { columns, tuples, lines, sourceFormats, sample, guesses, notes, description, hasSeenAllRows } = preview
  const rejected = await firstRejected(preview.rejected, opened)
  const rows = readRows(tuples, columns)
  const isComplete = opened.complete && sample.complete
  const count = sample.rejected + opened.rejected
  const [first] = rejected
  const tooMany = isComplete ? tooManyRejected(sample.rows - sample.rejected, { count, ...firstOf(first) }) : undefined
  const likely = isComplete ? undefined : likelyRejected(sample.rows + opened.rejected, { count, ...firstOf(first) })
  const declaredColumns = options.columns ?? []
  const unreadParts = [opened.unread, preview.unread].filter((sentence) => sentence !== undefined)
  const areTypesKnown = hasSeenAllRows && opened.complete
  const names = toUniqueIdentifiers(
    columns.map(
      ({ label }, index) => declaredColumns.find((one) => one.index === index || one.label === label)?.name ?? label,
    ),
  )
  return {
    columns: columns.map(({ label, dataType, precision, scale, evidence }, index) => {
      const decimal = precision === undefined ? {} : { precision, scale: scale ?? 0 }
      const known = evidence && areTypesKnown ? { evidence } : {}
      // Text that was made from a workbook or JSON is not the text of the file.
      const sourceFormat = opened.dialect ? undefined : sourceFormats[index]
      const form = sourceFormat === undefined ? {} : { sourceFormat }
      return { name: names[index]!, label, dataType, ...decimal, ...known, ...form }
    }),
    rows,
    // The lines of a text that was made from a workbook or JSON are not those of the file.
    ...(opened.dialect === undefined && { lines: lines.slice(0, rows.length) }),
    rejected,
    notes: [
      ...unreadParts,
      opened.formatSentence,
      // For text that was converted from a workbook or JSON, delimiter and header line say nothing about the uploaded
      // file.
      ...(opened.dialect ? [] : [`It is read with ${description}.`]),
      ...notes,
    ],
    complete: isComplete && sample.rows - preview.rejected.length <= rows.length,
    csvGuesses: guesses,
    ...(areTypesKnown && { typesKnown: areTypesKnown }),
    ...(opened.sparse && { sparse: true as const }),
    ...(likely !== undefined && { likelyRejected: likely }),
    ...(unreadParts.length > 0 && { unread: unreadParts.join(' ') }),
    ...(tooMany !== undefined && { tooManyRejected: tooMany }),
    ...(opened.sheets && { sheets: opened.sheets }),
  }
}

/** Runs a preview in a thread, because the samples of a large file would block the event loop for 0.1 s. */
async function previewInThread(job: PreviewJob, signal: AbortSignal): Promise<DelimitedPreview> {
  signal.throwIfAborted()
  await using thread = startReaderThread<DelimitedPreview>('preview', job, { reading: job.file.name }, signal)
  const message = await thread.receive()
  if (message.kind !== 'done') throw new Error(`The thread sent ${message.kind} instead of a preview`)
  return message.result
}

const firstOf = (row: RejectedRow | undefined) => (row ? { first: `line ${row.line}: ${row.reason}` } : {})

/** Returns as many rows as fit into a response. */
function readRows(tuples: readonly Uint8Array[], columns: readonly StoredType[]): PreviewCell[][] {
  const rows: PreviewCell[][] = []
  let charactersLeft = maxPreviewCharacters
  for (const tuple of tuples) {
    if (charactersLeft < 0) break
    const read = readTuples(tuple, columns, 1, charactersLeft)
    rows.push(...read.rows)
    charactersLeft -= read.characters
  }
  return rows
}

/**
 * Returns first the rejected rows that the preview found, then those rejected by the conversion, up to the maximum
 * number shown.
 */
async function firstRejected(rejectedRows: readonly RejectedRow[], upload: OpenedUpload): Promise<RejectedRow[]> {
  const first = rejectedRows.slice(0, maxRejected)
  if (first.length === maxRejected) return first
  for await (const rows of upload.rejects()) {
    first.push(...rows.slice(0, maxRejected - first.length))
    if (first.length === maxRejected) break
  }
  return first
}
