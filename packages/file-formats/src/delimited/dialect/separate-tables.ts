import { countLineEnds } from '../record-scanner.ts'
import { EMPTY_CELL } from './cell-kind.ts'
import { mostCommonFieldCount } from './choose-grammar.ts'
import { isNullText } from './guess-decimal-sign.ts'
import { areDistinct, type HeaderCandidate, isTextKind, sumHeaderVotes } from './header.ts'
import { readCellTexts, type ParsedSample, type SampleRecord } from './file-sample.ts'

/**
 * One table of a sample, with its titles. `first` is the index of its first record, `end` the index after its last one.
 */
export interface TablePart {
  first: number
  end: number
  /** Physical line numbers, from 1. The header is below the titles. */
  firstLine: number
  headerLine: number
  lastLine: number
}

const LF = 10
const CR = 13

/** The maximum number of records below or above a header that determine whether it is a header. */
const comparedRows = 20
const minRowsBelowHeader = 2
/** A table with fewer columns and fewer rows may be only names and values above the real table. */
const minColumns = 3
const minRowsOfNarrowTable = 10
/**
 * The minimum score against the rows above. In a row with empty cells at its end, a single text, such as `unknown`,
 * does not make the row a header, unless a title is above it.
 */
const minVotes = 0.5
const minVotesOfNarrowHeader = 2

/**
 * Divides a sample into its tables. A further table starts with a record of labels. At least two rows below it must
 * have other kinds of cells and the same number of fields. In addition, one of two conditions must hold: this number
 * differs from that of the rows above, or a blank line or a title is above the labels and they cannot be a row of the
 * table above. A repetition of the header, as in concatenated files, starts no new table. Padding of spreadsheet
 * programs is ignored.
 */
export function separateTables(paddedSample: ParsedSample, sample: Uint8Array): TablePart[] {
  const { unpadded, indexes: paddedIndexes } = removePadding(paddedSample)
  const { records } = unpadded
  const paddedFieldCounts = paddedIndexes.map((index) => paddedSample.records[index]!.count)
  const tableStarts = [0]
  const headerIndexes = [0]
  for (let index = minRowsBelowHeader; index < records.length - minRowsBelowHeader; index++) {
    const currentStart = tableStarts.at(-1)!
    if (!beginsTable(unpadded, sample, currentStart, index, paddedFieldCounts)) continue
    tableStarts.push(firstTitleAbove(unpadded, currentStart, index))
    headerIndexes.push(index)
  }
  headerIndexes[0] = firstRecordOfUsualWidth(records.slice(0, tableStarts[1]))
  return tableStarts.map((first, table) => {
    const end = tableStarts[table + 1] ?? records.length
    // `first` and `end` of a part are indexes in the padded sample. Lines are the same in both samples.
    return {
      first: table === 0 ? 0 : paddedIndexes[first]!,
      end: end === records.length ? paddedSample.records.length : paddedIndexes[end - 1]! + 1,
      firstLine: records[first]!.line,
      headerLine: records[headerIndexes[table]!]!.line,
      lastLine: lastLineOf(records[end - 1]!, sample),
    }
  })
}

/** Returns the number of the last line of a record. */
function lastLineOf({ from, next, line }: SampleRecord, sample: Uint8Array): number {
  const lineEnds = countLineEnds(sample, from, next)
  const endsWithLineEnd = next > from && [LF, CR].includes(sample[next - 1]!)
  return endsWithLineEnd ? line + lineEnds - 1 : line + lineEnds
}

/** Returns the index of the first record with the most common number of fields. */
function firstRecordOfUsualWidth(records: readonly SampleRecord[]): number {
  const width = mostCommonFieldCount(records)
  return Math.max(
    0,
    records.findIndex(({ count }) => count === width),
  )
}

/**
 * True if a record is the header of a new table below the table that starts at `currentStart`. `paddedFieldCounts` has
 * the number of fields of each record, including empty fields at its end.
 */
function beginsTable(
  parsed: ParsedSample,
  sample: Uint8Array,
  currentStart: number,
  index: number,
  paddedFieldCounts: readonly number[],
): boolean {
  const { records, grammar } = parsed
  const header = records[index]!
  if (header.count < 2 || !hasOnlyText(header)) return false
  // A quick test: in a table of texts, most records are followed by text records, so they start no other table.
  if (hasOnlyText(records[index + 1]!) && hasOnlyText(records[index + 2]!)) return false
  const readCandidate = (candidateIndex: number): HeaderCandidate => ({
    record: records[candidateIndex]!,
    texts: readCellTexts(sample, records[candidateIndex]!, grammar),
  })
  const labels = readCandidate(index)
  if (labels.texts.some(isNullText)) return false
  const rowsBelow = listRowsBelow(records, index).map(readCandidate)
  if (rowsBelow.length < minRowsBelowHeader || !areDistinct(labels)) return false
  if (sumHeaderVotes(labels, rowsBelow) <= 0) return false
  const firstTitle = firstTitleAbove(parsed, currentStart, index)
  const tableAbove = describeTableAbove(records, currentStart, firstTitle)
  const { fieldCount, rowIndexes } = tableAbove
  if (!isTable(tableAbove)) return false
  const hasOtherFieldCount = header.count !== fieldCount
  // Rows with fewer values than those above but the same number of fields may belong to the same table.
  const hasOtherPaddedFieldCount = paddedFieldCounts[index] !== paddedFieldCounts[rowIndexes[0]!]
  if (hasOtherFieldCount && hasOtherPaddedFieldCount) return true
  const [headerAbove, ...rowsAbove] = rowIndexes.slice(0, comparedRows).map(readCandidate)
  const isRepeated = !hasOtherFieldCount && hasSameTexts(labels, headerAbove!)
  if (isRepeated) return false
  const hasTitle = firstTitle < index
  const hasGapAbove = hasTitle || isBlankAbove(parsed, index)
  const isNarrow = header.count < fieldCount && !hasTitle
  const neededVotes = isNarrow ? minVotesOfNarrowHeader : minVotes
  return hasGapAbove && sumHeaderVotes(labels, rowsAbove) >= neededVotes
}

/** Lists the indexes of the first records below a header that have as many fields as it. */
function listRowsBelow(records: readonly SampleRecord[], headerIndex: number): number[] {
  const indexes: number[] = []
  for (let index = headerIndex + 1; indexes.length < comparedRows; index++) {
    if (records[index]?.count !== records[headerIndex]!.count) break
    indexes.push(index)
  }
  return indexes
}

/** The most common number of fields of the records in a table, and the indexes of the records that have it. */
interface TableAbove {
  fieldCount: number
  rowIndexes: number[]
}

function describeTableAbove(records: readonly SampleRecord[], start: number, end: number): TableAbove {
  const tableRecords = records.slice(start, end)
  const fieldCount = mostCommonFieldCount(tableRecords)
  const rowIndexes = tableRecords.flatMap(({ count }, offset) => (count === fieldCount ? [start + offset] : []))
  return { fieldCount, rowIndexes }
}

/** False for records that may only be names and values above the real table. */
function isTable({ fieldCount, rowIndexes }: TableAbove): boolean {
  const isNarrowAndShort = fieldCount < minColumns && rowIndexes.length < minRowsOfNarrowTable
  return !isNarrowAndShort && rowIndexes.length > minRowsBelowHeader
}

/** True if two records with equally many fields have the same texts, apart from spaces around them. */
const hasSameTexts = (first: HeaderCandidate, second: HeaderCandidate): boolean =>
  first.texts.every((text, column) => text.trim() === second.texts[column]!.trim())

function hasOnlyText({ kinds }: SampleRecord): boolean {
  for (const kind of kinds) if (!isTextKind(kind)) return false
  return true
}

/** True if a blank line is directly above a record. */
function isBlankAbove({ records, blankLines }: ParsedSample, index: number): boolean {
  const [previousLine, line] = [records[index - 1]!.line, records[index]!.line]
  return blankLines.some((blank) => blank > previousLine && blank < line)
}

/**
 * Returns the index of the first of the titles directly above a record, or the index of the record if none exist. A
 * title is an unbroken record with at most one filled cell.
 */
function firstTitleAbove({ records }: ParsedSample, partStart: number, index: number): number {
  let first = index
  while (first - 1 > partStart) {
    const { count, kinds } = records[first - 1]!
    const filledCells = kinds.filter((kind) => kind !== EMPTY_CELL).length
    if (count === 0 || filledCells > 1) break
    first--
  }
  return first
}

/** A sample without the empty cells with which spreadsheet programs make all lines equally wide. */
interface UnpaddedSample {
  unpadded: ParsedSample
  /** For each record of `unpadded`, its index in the padded sample. */
  indexes: number[]
}

/**
 * Removes the padding of spreadsheet programs. A line with only empty cells becomes a blank line, and a line with only
 * its first cell filled becomes a title with one cell. These lines divide the others into blocks. The lines of a block
 * lose the cells at the end that are empty in all of them. A sample with only empty cells is not changed.
 */
function removePadding(parsed: ParsedSample): UnpaddedSample {
  const filledWidths = parsed.records.map(filledWidth)
  const isEmptySample = filledWidths.every((width) => width === 0)
  const isPaddedBlankLine = ({ count }: SampleRecord, index: number) =>
    !isEmptySample && filledWidths[index] === 0 && count > 1
  const paddedBlankLines = parsed.records.filter(isPaddedBlankLine).map(({ line }) => line)
  const indexes = [...parsed.records.keys()].filter((index) => !isPaddedBlankLine(parsed.records[index]!, index))
  const records = divideIntoBlocks(parsed, indexes, filledWidths).flatMap((blockIndexes) => {
    const width = Math.max(1, ...blockIndexes.map((index) => filledWidths[index]!))
    return blockIndexes.map((index) => shortenRecord(parsed.records[index]!, width))
  })
  return { unpadded: { ...parsed, records, blankLines: [...parsed.blankLines, ...paddedBlankLines] }, indexes }
}

/** Divides the records with these indexes into blocks. A title is a block, and a blank line ends a block. */
function divideIntoBlocks(
  parsed: ParsedSample,
  indexes: readonly number[],
  filledWidths: readonly number[],
): number[][] {
  const isTitle = (index: number) => filledWidths[index] === 1
  const blocks: number[][] = []
  for (const [at, index] of indexes.entries()) {
    const startsBlock =
      at === 0 || isTitle(index) || isTitle(indexes[at - 1]!) || hasBlankLineBefore(parsed, indexes, at)
    if (startsBlock) blocks.push([index])
    else blocks.at(-1)!.push(index)
  }
  return blocks
}

/**
 * Returns the number of cells up to the last filled one. A record with more cells than were analysed counts as having
 * no padding.
 */
const filledWidth = ({ kinds, count }: SampleRecord): number =>
  kinds.length < count ? count : kinds.findLastIndex((kind) => kind !== EMPTY_CELL) + 1

/** True if a blank line, padded or not, is directly above the record with the index `indexes[at]`. */
function hasBlankLineBefore({ records, blankLines }: ParsedSample, indexes: readonly number[], at: number): boolean {
  const [previousIndex, index] = [indexes[at - 1]!, indexes[at]!]
  // `indexes` leaves out the padded blank lines.
  if (index > previousIndex + 1) return true
  return blankLines.some((line) => line > records[previousIndex]!.line && line < records[index]!.line)
}

/** Returns a record with only its first `width` cells. */
function shortenRecord(record: SampleRecord, width: number): SampleRecord {
  if (record.count <= width) return record
  const { kinds, starts, ends, fieldFlags } = record
  return {
    ...record,
    count: width,
    kinds: kinds.subarray(0, width),
    starts: starts.subarray(0, width),
    ends: ends.subarray(0, width),
    fieldFlags: fieldFlags.subarray(0, width),
  }
}
