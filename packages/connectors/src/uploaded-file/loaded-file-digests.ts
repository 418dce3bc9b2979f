import type { ReadReporter, RowStream } from '@sluice/row-stream'
import type { ReadRequest } from '../connector.ts'

/**
 * The cursor of a pipeline with uploaded files. The warehouse stores it with the rows, so both always match. It lists
 * only the newest 1,000 files.
 */
interface LoadedFiles {
  version: 1
  /** SHA-256 digests of the loaded files in hexadecimal, newest last. */
  sha256: readonly string[]
}

/**
 * The maximum number of listed files, because each publication stores the list again. The oldest files are removed
 * first.
 */
const maxListedFiles = 1_000

/** Returns the digests of the loaded files, newest last. The list is empty without a cursor. */
function parseLoadedFiles(cursor: unknown): readonly string[] {
  const { version, sha256 } = (cursor ?? {}) as Partial<LoadedFiles>
  return version === 1 && Array.isArray(sha256) ? sha256 : []
}

/** True if the rows of this file are in the table with this cursor. */
export const isFileLoaded = (cursor: unknown, sha256: string): boolean => parseLoadedFiles(cursor).includes(sha256)

interface FileInput {
  file?: { name: string; sha256?: string }
  /** True if the file is read even if its rows are already in the table. */
  repeatFile?: boolean
}

/**
 * Reads a file, and adds its digest to those in the cursor. With write mode APPEND, yields nothing for a file that is
 * already loaded, unless the run explicitly requests to load it again (`repeatFile`). A file without a digest is always
 * read.
 */
export async function* readNewFile(
  { input, cursor, writeMode }: ReadRequest,
  report: ReadReporter,
  readFile: () => AsyncIterable<RowStream>,
): AsyncGenerator<RowStream, void, void> {
  const { file, repeatFile } = input as FileInput
  const sha256 = file?.sha256
  if (sha256 === undefined) return yield* readFile()
  const isAlreadyAppended = writeMode === 'APPEND' && isFileLoaded(cursor, sha256)
  if (isAlreadyAppended && !repeatFile) {
    report.nothingNew?.(describeLoadedFile(file!.name))
    return
  }
  const keepsEarlierRows = writeMode === 'APPEND' || writeMode === 'MERGE'
  const earlierDigests = keepsEarlierRows ? parseLoadedFiles(cursor) : []
  const digests = [...earlierDigests.filter((digest) => digest !== sha256), sha256].slice(-maxListedFiles)
  const nextCursor: LoadedFiles = { version: 1, sha256: digests }
  for await (const rowStream of readFile()) yield { ...rowStream, cursor: () => nextCursor }
}

/** Returns the message for a file with rows that are already in the table. */
const describeLoadedFile = (name: string): string =>
  `The rows of "${name}" are already in the table, so nothing was added. To add them again, run with "repeatFile": true.`
