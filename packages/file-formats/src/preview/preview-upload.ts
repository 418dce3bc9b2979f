import type { DelimitedOptions } from '../delimited/dialect/delimited-options.ts'
import {
  toUniqueIdentifiers,
  describeProbableFailure,
  type RejectedRow,
  type StoredType,
  describeTooManyRejected,
} from '@sluice/row-stream'
import { type OpenedUpload, openUpload, type UploadToOpen } from '../upload/open-upload.ts'
import type { UploadOptions } from '../format/upload-options.ts'
import type { DelimitedPreview, PreviewJob } from '../delimited/sample/preview-rows.ts'
import { startReaderThread } from '../start-reader-thread.ts'
import { maxPreviewCharacters, readTuples } from '../cells/read-tuples.ts'
import type { PreviewCell, PreviewedColumn, SourcePreview } from './source-preview.ts'

/** The number of bytes of rows that are unpacked or converted. It is more than the preview examines. */
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
  const { sample } = preview
  const rejected = await listFirstRejected(preview.rejected, opened)
  const rows = readRows(preview.tuples, preview.columns)
  // The dialect and lines of a text that was converted from a workbook or JSON are not those of the uploaded file.
  const isOriginalText = opened.dialect === undefined
  const isWholeFileExamined = opened.complete && sample.complete
  const acceptedRows = sample.rows - preview.rejected.length
  const typesKnown = preview.hasSeenAllRows && opened.complete
  const unread = [opened.unread, preview.unread].filter((sentence) => sentence !== undefined)
  const dialectNotes = isOriginalText ? [`It is read with ${preview.description}.`] : []
  return {
    columns: describeColumns(preview, options, { isOriginalText, typesKnown }),
    rows,
    ...(isOriginalText && { lines: preview.lines.slice(0, rows.length) }),
    rejected,
    notes: [...unread, opened.formatSentence, ...dialectNotes, ...preview.notes],
    complete: isWholeFileExamined && acceptedRows <= rows.length,
    csvGuesses: preview.guesses,
    ...(typesKnown && { typesKnown }),
    ...(opened.sparse && { sparse: true as const }),
    ...(unread.length > 0 && { unread: unread.join(' ') }),
    ...describeRejections(preview, opened, isWholeFileExamined, rejected[0]),
    ...(opened.sheets && { sheets: opened.sheets }),
  }
}

/** Returns the columns with their names in the table: the name from the options, or one derived from the label. */
function describeColumns(
  { columns, sourceFormats }: DelimitedPreview,
  { columns: declaredColumns = [] }: DelimitedOptions,
  { isOriginalText, typesKnown }: { isOriginalText: boolean; typesKnown: boolean },
): PreviewedColumn[] {
  const findName = (label: string, index: number) =>
    declaredColumns.find((declared) => declared.index === index || declared.label === label)?.name
  const names = toUniqueIdentifiers(columns.map(({ label }, index) => findName(label, index) ?? label))
  return columns.map(({ label, dataType, precision, scale, evidence }, index) => {
    const sourceFormat = isOriginalText ? sourceFormats[index] : undefined
    return {
      name: names[index]!,
      label,
      dataType,
      ...(precision !== undefined && { precision, scale: scale ?? 0 }),
      ...(evidence && typesKnown && { evidence }),
      ...(sourceFormat !== undefined && { sourceFormat }),
    }
  })
}

/** Returns the sentence about too many rejected rows: certain if the whole file was examined, otherwise a warning. */
function describeRejections(
  { sample }: DelimitedPreview,
  opened: OpenedUpload,
  isWholeFileExamined: boolean,
  firstRejected: RejectedRow | undefined,
): Pick<SourcePreview, 'tooManyRejected' | 'likelyRejected'> {
  const rejections = {
    count: sample.rejected + opened.rejected,
    ...(firstRejected && { first: `line ${firstRejected.line}: ${firstRejected.reason}` }),
  }
  if (isWholeFileExamined) {
    const sentence = describeTooManyRejected(sample.rows - sample.rejected, rejections)
    return sentence === undefined ? {} : { tooManyRejected: sentence }
  }
  const sentence = describeProbableFailure(sample.rows + opened.rejected, rejections)
  return sentence === undefined ? {} : { likelyRejected: sentence }
}

/** Runs a preview in a thread, because the samples of a large file would block the event loop for 0.1 s. */
async function previewInThread(job: PreviewJob, signal: AbortSignal): Promise<DelimitedPreview> {
  signal.throwIfAborted()
  await using thread = startReaderThread<DelimitedPreview>('preview', job, { reading: job.file.name }, signal)
  const message = await thread.receive()
  if (message.kind !== 'done') throw new Error(`The thread sent ${message.kind} instead of a preview`)
  return message.result
}

/** Decodes rows, as many as fit into a response. */
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

/** Returns the first rejected rows: those that the preview found, followed by those that the conversion rejected. */
async function listFirstRejected(rejectedRows: readonly RejectedRow[], upload: OpenedUpload): Promise<RejectedRow[]> {
  const firstRejected = rejectedRows.slice(0, maxRejected)
  if (firstRejected.length === maxRejected) return firstRejected
  for await (const rows of upload.rejects()) {
    firstRejected.push(...rows.slice(0, maxRejected - firstRejected.length))
    if (firstRejected.length === maxRejected) break
  }
  return firstRejected
}
