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
  if (footerLines !== undefined) return chooseAllButLastLines(file, sample, parsed, footerLines)
  const tables = separateTables(parsed, sample.head)
  const isComplete = sample.complete && parsed.exhausted
  const defaultTable = isComplete ? longestPart(tables) : tables.at(-1)!
  const chosenTable = skipLines === undefined ? defaultTable : tables[0]!
  const nextTable = tables[tables.indexOf(chosenTable) + 1]
  const end = nextTable && sample.from + parsed.records[chosenTable.end]!.from
  return {
    parsed: { ...parsed, records: parsed.records.slice(chosenTable.first, chosenTable.end) },
    end,
    linesAfter: end === undefined ? 0 : countLines(file, end),
    parts: tables.length === 1 ? undefined : { all: tables, chosen: chosenTable, isComplete },
  }
}

/** Chooses all lines except the last ones of the file as the table. */
function chooseAllButLastLines(
  file: ReadableFile,
  sample: FileSample,
  parsed: ParsedSample,
  footerLines: number,
): TableChoice {
  const footerInFile = lastLines(file, sample, footerLines, sample.from).from
  const footerInSample = footerInFile - sample.from
  const records = parsed.records.filter(({ from }, index) => index === 0 || from < footerInSample)
  return { parsed: { ...parsed, records }, end: undefined, linesAfter: 0, parts: undefined }
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
  const formatLines = (part: TablePart) => {
    // The last table may continue after the sample.
    const isEndKnown = isComplete || part !== allParts.at(-1)
    return isEndKnown ? `lines ${part.firstLine} to ${part.lastLine}` : `line ${part.firstLine} on`
  }
  const otherParts = allParts.filter((part) => part !== chosenPart)
  const listedParts = otherParts.slice(0, maxListed)
  const otherLines = listedParts.map((part) => `${formatLines(part)} (skipLines ${part.headerLine - 1})`).join(', ')
  const moreText = otherParts.length > maxListed ? ` and ${otherParts.length - maxListed} more` : ''
  const subject = otherParts.length === 1 ? 'another table seems' : 'other tables seem'
  const optionsOfChosenPart = `skipLines ${skipLines.value} and footerLines ${footerLines.value}`
  return `Only the table in ${formatLines(chosenPart)} of ${name} was read; ${subject} to be in ${otherLines}${moreText}. Choose a table with csvOptions.skipLines and csvOptions.footerLines; ${optionsOfChosenPart} keep this one.`
}

/** Returns the number of lines from a position to the end of the file. The last line may lack a line end. */
function countLines(file: ReadableFile, from: number): number {
  // The first byte of the chunk is the last one of the previous chunk. It shows whether an LF is the second half of a
  // CRLF, which is one line end.
  const chunk = new Uint8Array(1 + countedChunkBytes)
  let lineCount = 0
  let previousByte = 0
  for (let position = from; position < file.size; ) {
    const bytesRead = file.read(chunk, 1, countedChunkBytes, position)
    if (bytesRead === 0) break
    chunk[0] = previousByte
    const lineEndsOfPreviousByte = isLineEnd(previousByte) ? 1 : 0
    lineCount += countLineEnds(chunk, 0, 1 + bytesRead) - lineEndsOfPreviousByte
    previousByte = chunk[bytesRead]!
    position += bytesRead
  }
  return isLineEnd(previousByte) ? lineCount : lineCount + 1
}

const isLineEnd = (byte: number): boolean => byte === LF || byte === CR
