import { countLineEnds } from '../record-scanner.ts'
import type { DelimitedOptions } from './delimited-options.ts'
import type { DetectedOptions } from './dialect.ts'
import { lastLines } from './footer.ts'
import type { FileSample, ParsedSample, ReadableFile } from './file-sample.ts'
import { separateTables, type TablePart } from './separate-tables.ts'

/** The table of a sample to read. */
export interface TableChoice {
  /** The sample with only the records of this table. */
  parsed: ParsedSample
  /** The position after the table in the file, if another table follows. */
  end: number | undefined
  /** The number of lines from `end` to the end of the file. */
  linesAfter: number
  /**
   * All tables in the sample and the one to read. Undefined if there is only one table, or if options exclude the
   * others.
   */
  parts: { all: TablePart[]; chosen: TablePart; isComplete: boolean } | undefined
}

const countedChunkBytes = 1024 * 1024

/**
 * Chooses which table of a file to read. With the option `footerLines`, all other lines are one table. With only
 * `skipLines`, it is the first table after those lines. Otherwise, if the whole file was parsed, it is the table with
 * the most records; in a longer file, it is the last parsed table, because that one continues after the sample.
 */
export function chooseTable(
  file: ReadableFile,
  sample: FileSample,
  parsed: ParsedSample,
  { skipLines, footerLines }: DelimitedOptions,
): TableChoice {
  if (footerLines !== undefined) {
    const end = lastLines(file, sample, footerLines, sample.from).from - sample.from
    const records = parsed.records.filter(({ from }, index) => index === 0 || from < end)
    return { parsed: { ...parsed, records }, end: undefined, linesAfter: 0, parts: undefined }
  }
  const parts = separateTables(parsed, sample.head)
  const isComplete = sample.complete && parsed.exhausted
  const defaultPart = isComplete ? longestPart(parts) : parts.at(-1)!
  const chosenPart = skipLines === undefined ? defaultPart : parts[0]!
  const nextPart = parts[parts.indexOf(chosenPart) + 1]
  const end = nextPart && sample.from + parsed.records[chosenPart.end]!.from
  const linesAfter = end === undefined ? 0 : countLines(file, end)
  return {
    parsed: { ...parsed, records: parsed.records.slice(chosenPart.first, chosenPart.end) },
    end,
    linesAfter,
    parts: parts.length === 1 ? undefined : { all: parts, chosen: chosenPart, isComplete },
  }
}

/** Returns the table with the most records, or the first of several such tables. */
function longestPart(parts: readonly TablePart[]): TablePart {
  const recordCount = ({ first, end }: TablePart) => end - first
  return parts.toSorted((firstPart, secondPart) => recordCount(secondPart) - recordCount(firstPart))[0]!
}

const LF = 10
const CR = 13

/** The maximum number of unread tables that a message lists. */
const maxListed = 20

/** Returns a sentence for users about the tables that are not read, or undefined if the whole file is one table. */
export function describeUnread(
  name: string,
  { parts }: TableChoice,
  { skipLines, footerLines }: DetectedOptions,
): string | undefined {
  if (!parts) return undefined
  const { all: allParts, chosen: chosenPart, isComplete } = parts
  const formatLines = (part: TablePart) =>
    isComplete || part !== allParts.at(-1) ? `lines ${part.firstLine} to ${part.lastLine}` : `line ${part.firstLine} on`
  const otherParts = allParts.filter((part) => part !== chosenPart)
  const otherRanges = otherParts
    .slice(0, maxListed)
    .map((part) => `${formatLines(part)} (skipLines ${part.headerLine - 1})`)
  const moreText = otherParts.length > maxListed ? ` and ${otherParts.length - maxListed} more` : ''
  const optionsOfChosenPart = `skipLines ${skipLines.value} and footerLines ${footerLines.value}`
  return `Only the table in ${formatLines(chosenPart)} of ${name} was read; ${otherParts.length === 1 ? 'another table seems' : 'other tables seem'} to be in ${otherRanges.join(', ')}${moreText}. Choose a table with csvOptions.skipLines and csvOptions.footerLines; ${optionsOfChosenPart} keep this one.`
}

/** Returns the number of lines from a position to the end of the file. */
function countLines(file: ReadableFile, from: number): number {
  const chunk = new Uint8Array(countedChunkBytes + 1)
  let lineCount = 0
  let lastByte = 0
  for (let position = from; position < file.size; ) {
    const bytesRead = file.read(chunk, 1, countedChunkBytes, position)
    if (bytesRead === 0) break
    // The preceding byte shows whether a line feed is the second half of a CRLF.
    chunk[0] = lastByte
    const alreadyCountedLineEnds = isLineEnd(lastByte) ? 1 : 0
    lineCount += countLineEnds(chunk, 0, bytesRead + 1) - alreadyCountedLineEnds
    lastByte = chunk[bytesRead]!
    position += bytesRead
  }
  return isLineEnd(lastByte) ? lineCount : lineCount + 1
}

const isLineEnd = (byte: number): boolean => byte === LF || byte === CR
