import type { ColumnOptions } from '../delimited/dialect/delimited-options.ts'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type RejectedRow, SourceProblem } from '@sluice/row-stream'
import type { FoundSheet, ConvertedFile } from '../format/conversion-job.ts'
import { describeUnreadSheets } from '../excel/choose-sheet.ts'
import { assertFormat, detectFormat, detectionBytes, type UploadFormat } from '../format/detect-format.ts'
import { defaultUploadLimits, type UploadLimits } from '../spool/upload-limits.ts'
import { convertInThread } from './convert-upload-in-thread.ts'
import { readRejects } from '../spool/rejected-rows-file.ts'
import { openSpool, spoolDirectory } from '../spool/spool-file.ts'
import { addDeclared, type UploadOptions, type WrittenDialect } from '../format/upload-options.ts'

export interface UploadToOpen {
  /** A path on this machine, or the descriptor of an open file, which the caller closes. */
  path: string | number
  /** The file's name in messages, which must not show its path. */
  name: string
  /** Temporary files are created in the folder `spool` of this directory. */
  filesDirectory: string
  options?: UploadOptions
  limits?: UploadLimits
  /** The only accepted format, if set. A file of the other format is rejected before it is unpacked. */
  expectedFormat?: UploadFormat
  /**
   * The number of bytes of rows after which unpacking or converting stops, for a preview. Absent: all rows are needed.
   */
  firstBytes?: number
  /**
   * Called while the upload is unpacked or converted, with bytes of the upload itself. Not called for an upload that is
   * read in place.
   */
  onProgress?: (bytesRead: number, bytesTotal: number) => void
}

/** The dialect of a text that this process wrote, with the columns as options. */
type ReadDialect = Omit<WrittenDialect, 'columns'> & { columns?: ColumnOptions[] }

/** An open upload as a file of plain rows. Disposing closes the file; a temporary file is then deleted. */
export interface OpenedUpload extends Disposable {
  /** DELIMITED: UTF-8 text, with its byte order mark if it is read in place. PARQUET: the unchanged file. */
  format: UploadFormat
  /**
   * The file to read at explicit positions, because the descriptor's own position is undefined. Threads of this process
   * may use the descriptor.
   */
  file: { fd: number; size: number; name: string }
  /** True if `file` is the upload itself, which other processes may change. False if it is a private temporary file. */
  inPlace: boolean
  /** False if `firstBytes` left something out. The last record may then be truncated. */
  complete: boolean
  /** A sentence about the formats of the upload, for the run's log. */
  formatSentence: string
  /** The dialect of a text that this process wrote. It replaces the given options and includes their columns. */
  dialect?: ReadDialect
  /** Set if only columns that occur in some record are present. */
  sparse?: boolean
  sheets?: FoundSheet[]
  /** A sentence about contents of the upload that are not read although no setting excludes them. */
  unread?: string
  /** The number of rows that the conversion rejected. */
  rejected: number
  /**
   * Yields the stored rejected rows, with line numbers of the upload. They can be read again, for example after
   * `startOver`.
   */
  rejects(): AsyncIterable<RejectedRow[]>
  /** The number of rows in the temporary file, possibly including its header. Absent if they were not counted. */
  written?: number
}

/** Why a file cannot be opened, by error code. Each is the end of a sentence that starts with the name of the file. */
const unreadableReasons: Record<string, string> = {
  ENOENT: 'no longer exists on the server; upload it again',
  EACCES: 'may not be read by the service; an operator must correct the permissions of the upload folder',
  EPERM: 'may not be read by the service; an operator must correct the permissions of the upload folder',
  EISDIR: 'is not a file',
}

/**
 * Opens an upload of any supported format as one file of plain rows. UTF-8 text and Parquet are opened in place.
 * Everything else is converted in a thread to a temporary file. An abort ends the conversion and leaves no files.
 * Throws SourceProblem for problems that a user can fix.
 */
export async function openUpload(upload: UploadToOpen, signal: AbortSignal): Promise<OpenedUpload> {
  signal.throwIfAborted()
  const { path, name, options = {} } = upload
  const fd = typeof path === 'number' ? path : openFile(path, name)
  const close = () => {
    const isOwnDescriptor = fd !== path
    if (isOwnDescriptor) closeSync(fd)
  }
  let isReturned = false
  try {
    const { size } = fstatSync(fd)
    const start = Buffer.alloc(Math.min(size, detectionBytes))
    const startLength = readSync(fd, start, 0, start.length, 0)
    const content = detectFormat(start.subarray(0, startLength), name, options.encoding)
    const isParquet = content.kind === 'PARQUET'
    const isUtf8Text = content.kind === 'TEXT' && content.encoding === 'utf-8'
    if (!isParquet && !isUtf8Text) return await openConverted(upload, fd, size, signal)
    const format = isParquet ? 'PARQUET' : 'DELIMITED'
    assertFormat(format, upload.expectedFormat, name)
    isReturned = true
    return {
      format,
      file: { fd, size, name },
      inPlace: true,
      complete: true,
      formatSentence: `${name} is ${isParquet ? 'Parquet' : 'UTF-8 text'}.`,
      rejected: 0,
      rejects: yieldNoRejects,
      [Symbol.dispose]: callOnce(close),
    }
  } finally {
    if (!isReturned) close()
  }
}

/**
 * Converts an upload to a temporary file, and opens that. Throws SourceProblem, also if the upload changes during the
 * conversion.
 */
async function openConverted(
  upload: UploadToOpen,
  source: number,
  size: number,
  signal: AbortSignal,
): Promise<OpenedUpload> {
  const {
    name,
    filesDirectory,
    options = {},
    limits = defaultUploadLimits,
    firstBytes,
    expectedFormat,
    onProgress,
  } = upload
  const directory = spoolDirectory(filesDirectory)
  const spool = openSpool(directory)
  let rejects: number | undefined
  const close = callOnce(() => {
    closeSync(spool)
    if (rejects !== undefined) closeSync(rejects)
  })
  try {
    rejects = openSpool(directory)
    const statBefore = fstatSync(source, { bigint: true })
    const job = {
      name,
      source,
      size,
      spool,
      rejects,
      directory,
      options,
      limits,
      ...(firstBytes !== undefined && { firstBytes }),
      ...(expectedFormat && { expectedFormat }),
    }
    const convertedFile = await convertInThread(job, signal, (bytes) => onProgress?.(bytes, size))
    const statAfter = fstatSync(source, { bigint: true })
    const isUnchanged = statAfter.size === statBefore.size && statAfter.mtimeNs === statBefore.mtimeNs
    if (!isUnchanged) throw changedFileProblem(name)
    onProgress?.(size, size)
    return createOpenedUpload(convertedFile, upload, { spool, rejects }, close)
  } catch (error) {
    close()
    throw error
  }
}

/**
 * Returns the opened upload for a converted file. Its columns are those of the options and those that the file
 * declares.
 */
function createOpenedUpload(
  { format, size, formats, dialect, sheets, sparse, complete, rejected, written }: ConvertedFile,
  { name, options = {} }: UploadToOpen,
  { spool, rejects }: { spool: number; rejects: number },
  close: () => void,
): OpenedUpload {
  const columns = addDeclared(options.columns ?? [], dialect?.columns ?? [])
  const unreadWarning = sheets && describeUnreadSheets(sheets, options, name)
  return {
    format,
    file: { fd: spool, size, name },
    inPlace: false,
    complete,
    formatSentence: `${name} is ${formats.join(' holding ')}.`,
    ...(dialect && { dialect: { ...dialect, ...(columns.length > 0 && { columns }) } }),
    ...(sheets && { sheets }),
    ...(unreadWarning !== undefined && { unread: unreadWarning }),
    ...(sparse && { sparse }),
    rejected,
    rejects: () => (rejected === 0 ? yieldNoRejects() : readRejects(rejects)),
    ...(written !== undefined && { written }),
    [Symbol.dispose]: close,
  }
}

/** Opens a file. Throws SourceProblem FILE_NOT_FOUND or FILE_NOT_READABLE, also if `path` is not a file. */
function openFile(path: string, name: string): number {
  try {
    const fd = openSync(path, 'r')
    if (fstatSync(fd).isFile()) return fd
    closeSync(fd)
  } catch (cause) {
    throw unreadableFileProblem(name, (cause as NodeJS.ErrnoException).code ?? '', cause)
  }
  throw unreadableFileProblem(name, 'EISDIR', new Error(`${path} is not a file`))
}

/** Creates the problem for an error code of the operating system. */
function unreadableFileProblem(name: string, code: string, cause: unknown): SourceProblem {
  const reason = unreadableReasons[code] ?? `cannot be read (${code})`
  return new SourceProblem(code === 'ENOENT' ? 'FILE_NOT_FOUND' : 'FILE_NOT_READABLE', `${name} ${reason}.`, { cause })
}

async function* yieldNoRejects(): AsyncGenerator<RejectedRow[], void, void> {}

const changedFileProblem = (name: string) =>
  new SourceProblem('FILE_CHANGED', `${name} changed while it was being read; run the load again.`)

function callOnce(close: () => void): () => void {
  let isClosed = false
  return () => {
    if (isClosed) return
    isClosed = true
    close()
  }
}
