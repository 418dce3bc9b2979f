import type { ColumnOptions } from '@sluice/delimited'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type RejectedRow, SourceProblem } from '../source.ts'
import { type FoundSheet, unreadSheets } from './excel/choose-sheet.ts'
import { detectionBytes, detectFormat } from './detect-format.ts'
import { defaultUploadLimits, type UploadLimits } from './spool/limits.ts'
import { normaliseInThread } from './spool/normalise-in-thread.ts'
import type { NormalisedFile } from './spool/protocol.ts'
import { readRejects } from './spool/rejects.ts'
import { openSpool, spoolDirectory } from './spool/spool-file.ts'
import { assertFormat, type UploadFormat } from './assert-format.ts'
import { addDeclared, type UploadOptions, type WrittenDialect } from './upload.ts'

export interface UploadToOpen {
  /** Where the file is on this machine, or the descriptor of one that is open and stays so. */
  path: string | number
  /** The display name; messages show it instead of the path. */
  name: string
  /** Spools are made in its folder `spool`. */
  filesDirectory: string
  options?: UploadOptions
  limits?: UploadLimits
  /** Where only one of them is read, the other is refused once it is recognised, before it is unpacked. */
  wanted?: UploadFormat
  /** Where only the start is wanted, as for a preview: bytes of rows from which on nothing more is unpacked. */
  firstBytes?: number
  /** Told while the upload is being unpacked or rewritten; never for one that is read in place. Bytes of the upload itself. */
  onProgress?: (bytesRead: number, bytesTotal: number) => void
}

export type ReadDialect = Omit<WrittenDialect, 'columns'> & { columns?: ColumnOptions[] }

/** An upload ready to be read: open, and plain. Disposing it closes the file; a spool is gone then. */
export interface OpenedUpload extends Disposable {
  /** DELIMITED is UTF-8 text, with its byte order mark where it is read in place; PARQUET is as it came. */
  format: UploadFormat
  /** Read it at positions: the descriptor's own place in the file means nothing. Threads of this process may use the number. */
  file: { fd: number; size: number; name: string }
  /** Whether `file` is the upload itself, which others might change, or a spool that nobody else has. */
  inPlace: boolean
  /** False where `firstBytes` left something out: the last record may be cut then. */
  complete: boolean
  how: string
  /** How the text is to be read, where it was written here: it goes over the options that were given, whose columns are in it. */
  dialect?: ReadDialect
  /** Its columns are those that some record has. */
  sparse?: boolean
  sheets?: FoundSheet[]
  /** A sentence about what the upload holds and nobody chose to leave out. */
  unread?: string
  /** Rows that were set aside on the way. */
  rejected: number
  /** The first of them, as many as are kept, with lines of the upload. They may be read again, as after `startOver`. */
  rejects(): AsyncIterable<RejectedRow[]>
  /** Rows in the spool, its header perhaps among them, where they were counted. */
  written?: number
}

const unreadable: Record<string, string> = {
  ENOENT: 'is not on the server any more; upload it again',
  EACCES: 'may not be read by the service; an operator has to mend the permissions of the upload folder',
  EPERM: 'may not be read by the service; an operator has to mend the permissions of the upload folder',
  EISDIR: 'is a folder or something else that is not a file',
}

/**
 * Opens an upload, whatever it is, as one file of plain rows. Text in UTF-8 and Parquet are opened in place; everything
 * else is written once into a spool by a thread, within the limits. An abort ends that at once and leaves nothing.
 * Throws SourceProblem for what a person can mend.
 */
export async function openUpload(upload: UploadToOpen, signal: AbortSignal): Promise<OpenedUpload> {
  signal.throwIfAborted()
  const { path, name, options = {} } = upload
  const fd = typeof path === 'number' ? path : openFile(path, name)
  const close = () => {
    if (fd !== path) closeSync(fd)
  }
  let kept = false
  try {
    const { size } = fstatSync(fd)
    const start = Buffer.alloc(Math.min(size, detectionBytes))
    const content = detectFormat(start.subarray(0, readSync(fd, start, 0, start.length, 0)), name, options.encoding)
    if (content.kind !== 'PARQUET' && !(content.kind === 'TEXT' && content.encoding === 'utf-8')) {
      return await openNormalised(upload, fd, size, signal)
    }
    const format = content.kind === 'PARQUET' ? 'PARQUET' : 'DELIMITED'
    assertFormat(format, upload.wanted, name)
    kept = true
    const how = `${name} is ${content.kind === 'PARQUET' ? 'Parquet' : 'UTF-8 text'}.`
    return {
      format,
      file: { fd, size, name },
      inPlace: true,
      complete: true,
      how,
      rejected: 0,
      rejects: none,
      [Symbol.dispose]: once(close),
    }
  } finally {
    if (!kept) close()
  }
}

async function openNormalised(
  upload: UploadToOpen,
  source: number,
  size: number,
  signal: AbortSignal,
): Promise<OpenedUpload> {
  const { name, filesDirectory, options = {}, limits = defaultUploadLimits, firstBytes, wanted, onProgress } = upload
  const directory = spoolDirectory(filesDirectory)
  const spool = openSpool(directory)
  let rejects: number | undefined
  const close = once(() => {
    closeSync(spool)
    if (rejects !== undefined) closeSync(rejects)
  })
  try {
    rejects = openSpool(directory)
    const before = fstatSync(source, { bigint: true })
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
      ...(wanted && { wanted }),
    }
    const normalised = await normaliseInThread(job, signal, (bytes) => onProgress?.(bytes, size))
    const after = fstatSync(source, { bigint: true })
    if (after.size !== before.size || after.mtimeNs !== before.mtimeNs) throw changed(name)
    onProgress?.(size, size)
    return opened(normalised, upload, { spool, rejects }, close)
  } catch (error) {
    close()
    throw error
  }
}

function opened(
  { format, size, found, dialect, sheets, sparse, complete, rejected, written }: NormalisedFile,
  { name, options = {} }: UploadToOpen,
  { spool, rejects }: { spool: number; rejects: number },
  close: () => void,
): OpenedUpload {
  const columns = addDeclared(options.columns ?? [], dialect?.columns ?? [])
  const unread = sheets && unreadSheets(sheets, options, name)
  return {
    format,
    file: { fd: spool, size, name },
    inPlace: false,
    complete,
    how: `${name} is ${found.join(' holding ')}.`,
    ...(dialect && { dialect: { ...dialect, ...(columns.length > 0 && { columns }) } }),
    ...(sheets && { sheets }),
    ...(unread !== undefined && { unread }),
    ...(sparse && { sparse }),
    rejected,
    rejects: () => (rejected === 0 ? none() : readRejects(rejects)),
    ...(written !== undefined && { written }),
    [Symbol.dispose]: close,
  }
}

function openFile(path: string, name: string): number {
  try {
    const fd = openSync(path, 'r')
    if (fstatSync(fd).isFile()) return fd
    closeSync(fd)
    throw Object.assign(new Error(`${path} is no file`), { code: 'EISDIR' })
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? ''
    const why = unreadable[code] ?? `cannot be read (${code})`
    throw new SourceProblem(code === 'ENOENT' ? 'FILE_NOT_FOUND' : 'FILE_NOT_READABLE', `${name} ${why}.`, { cause })
  }
}

async function* none(): AsyncGenerator<RejectedRow[], void, void> {}

const changed = (name: string) =>
  new SourceProblem('FILE_CHANGED', `${name} changed while it was being read; run the load again.`)

function once(close: () => void): () => void {
  let closed = false
  return () => {
    if (closed) return
    closed = true
    close()
  }
}
