import { SourceProblem } from '@sluice/row-stream'
import { detectionBytes, detectFormat } from '../format/detect-format.ts'
import { startOf } from '../spool/byte-source.ts'
import type { UploadOptions } from '../format/upload-options.ts'
import type { ZipArchive } from './zip-archive.ts'

/** The maximum number of entries that are examined, and that a message lists. */
const maxInspectedEntries = 100
const maxListedEntries = 20

/** Matches files that some archivers add and users do not need. */
const ignoredEntryPattern = /(^|\/)(__MACOSX\/|\.|Thumbs\.db$|desktop\.ini$)/i

/**
 * Returns the archive entry with the rows: the one named in the options, the only one, or the only one that looks like
 * a table. Unless an entry is named, entries that match `ignoredEntryPattern` do not count. If the archive has more
 * than `maxInspectedEntries` entries, the choice is always ambiguous. Throws SourceProblem ENTRY_NOT_FOUND,
 * ARCHIVE_EMPTY or ENTRY_AMBIGUOUS, which lists the entries.
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
  const message = `${archive.name} holds several files (${formatNames(namesWithRows.length > 0 ? namesWithRows : candidates)}); name the one that holds the rows with the option "entry", or pack it alone.`
  throw new SourceProblem('ENTRY_AMBIGUOUS', message)
}

/** True if an entry looks like a table. False if it is unreadable. */
async function looksLikeRows(archive: ZipArchive, name: string, declared?: string): Promise<boolean> {
  try {
    const start = await startOf(archive.bytes(name), detectionBytes)
    const content = detectFormat(start, name, declared)
    if (content.kind !== 'TEXT') return true
    return isDelimited(new TextDecoder(content.encoding).decode(start.subarray(content.skip)))
  } catch (error) {
    if (error instanceof SourceProblem) return false
    throw error
  }
}

/** True if the first two lines contain the same number of one delimiter outside quotes. */
function isDelimited(text: string): boolean {
  const [first, second] = text
    .replace(/"[^"]*"/g, '""')
    .split(/\r\n?|\n/)
    .filter((line) => line.trim() !== '')
  if (first === undefined) return false
  return [',', ';', '\t', '|'].some((delimiter) => {
    const count = first.split(delimiter).length
    return count > 1 && (second === undefined || second.split(delimiter).length === count)
  })
}

function formatNames(names: string[]): string {
  const shownNames = names.slice(0, maxListedEntries).map((name) => JSON.stringify(name.slice(0, 200)).slice(1, -1))
  return names.length > maxListedEntries
    ? `${shownNames.join(', ')} and ${names.length - maxListedEntries} more`
    : shownNames.join(', ')
}
