import { SourceProblem } from '@sluice/row-stream'
import { detectionBytes, detectFormat } from '../format/detect-format.ts'
import { readStart } from '../spool/byte-source.ts'
import type { UploadOptions } from '../format/upload-options.ts'
import type { ZipArchive } from './zip-archive.ts'

/** The maximum number of entries that are examined, and that a message lists. */
const maxInspectedEntries = 100
const maxListedEntries = 20
const maxNameLength = 200

/** Matches files that some archivers add and users do not need. */
const ignoredEntryPattern = /(^|\/)(__MACOSX\/|\.|Thumbs\.db$|desktop\.ini$)/i

/**
 * Returns the name of the archive entry with the rows: the one named in the options, otherwise the only entry,
 * otherwise the only entry that looks like a table. Entries that match `ignoredEntryPattern` do not count, unless one
 * is named. Throws SourceProblem ENTRY_NOT_FOUND, ARCHIVE_EMPTY, or ENTRY_AMBIGUOUS if there are several candidates or
 * too many entries.
 */
export async function chooseEntry(
  archive: ZipArchive,
  { entry: requestedEntry, encoding }: UploadOptions,
): Promise<string> {
  const names = [...archive.entries.keys()]
  if (requestedEntry !== undefined) {
    if (archive.entries.has(requestedEntry)) return requestedEntry
    const message = `${archive.name} holds no ${requestedEntry}; it holds ${formatNames(names)}. Correct the option "entry".`
    throw new SourceProblem('ENTRY_NOT_FOUND', message)
  }
  const candidates = names.filter((name) => !ignoredEntryPattern.test(name))
  if (candidates.length === 0) {
    throw new SourceProblem('ARCHIVE_EMPTY', `${archive.name} holds no file; pack the file with the rows into it.`)
  }
  if (candidates.length === 1) return candidates[0]!
  const namesWithRows: string[] = []
  for (const name of candidates.slice(0, maxInspectedEntries)) {
    if (await looksLikeRows(archive, name, encoding)) namesWithRows.push(name)
  }
  if (namesWithRows.length === 1 && candidates.length <= maxInspectedEntries) return namesWithRows[0]!
  const listedNames = namesWithRows.length > 0 ? namesWithRows : candidates
  const message = `${archive.name} holds several files (${formatNames(listedNames)}); name the one that holds the rows with the option "entry", or pack it alone.`
  throw new SourceProblem('ENTRY_AMBIGUOUS', message)
}

/**
 * True if an entry looks like a table: it is delimited text or has another format that can be uploaded. False if it
 * cannot be read.
 */
async function looksLikeRows(archive: ZipArchive, name: string, declaredEncoding?: string): Promise<boolean> {
  try {
    const start = await readStart(archive.bytes(name), detectionBytes)
    const content = detectFormat(start, name, declaredEncoding)
    if (content.kind !== 'TEXT') return true
    return isDelimited(new TextDecoder(content.encoding).decode(start.subarray(content.skip)))
  } catch (error) {
    if (error instanceof SourceProblem) return false
    throw error
  }
}

/**
 * True if the first line contains a delimiter outside quotes, and the second line contains it equally often. Blank
 * lines do not count. A text with a single line needs only the delimiter.
 */
function isDelimited(text: string): boolean {
  const textWithoutQuotedFields = text.replace(/"[^"]*"/g, '""')
  const lines = textWithoutQuotedFields.split(/\r\n?|\n/).filter((line) => line.trim() !== '')
  const [firstLine, secondLine] = lines
  if (firstLine === undefined) return false
  return [',', ';', '\t', '|'].some((delimiter) => {
    const fieldCount = firstLine.split(delimiter).length
    if (fieldCount === 1) return false
    return secondLine === undefined || secondLine.split(delimiter).length === fieldCount
  })
}

/** Lists entry names for a message: at most 20 names of at most 200 characters, with control characters escaped. */
function formatNames(names: string[]): string {
  const escapeName = (name: string) => JSON.stringify(name.slice(0, maxNameLength)).slice(1, -1)
  const list = names.slice(0, maxListedEntries).map(escapeName).join(', ')
  return names.length > maxListedEntries ? `${list} and ${names.length - maxListedEntries} more` : list
}
