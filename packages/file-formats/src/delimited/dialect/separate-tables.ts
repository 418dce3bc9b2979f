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
  const { unpadded: unpaddedSample, indexes: paddedIndexes } = removePadding(paddedSample)
  const { records } = unpaddedSample
  const fieldCounts = paddedIndexes.map((index) => paddedSample.records[index]!.count)
  const partStarts = [0]
  const headerIndexes = [0]
  for (let index = minRowsBelowHeader; index < records.length - minRowsBelowHeader; index++) {
    if (!beginsTable(unpaddedSample, sample, partStarts.at(-1)!, index, fieldCounts)) continue
    partStarts.push(firstTitleAbove(unpaddedSample, partStarts.at(-1)!, index))
    headerIndexes.push(index)
  }
  headerIndexes[0] = firstRecordOfUsualWidth(records.slice(0, partStarts[1]))
  return partStarts.map((first, part) => {
    const end = partStarts[part + 1] ?? records.length
    const lastRecord = records[end - 1]!
    const lineEnds = countLineEnds(sample, lastRecord.from, lastRecord.next)
    const isEmptyRecord = lastRecord.next === lastRecord.from
    const isLastLineUnterminated = isEmptyRecord || ![LF, CR].includes(sample[lastRecord.next - 1]!)
    const lastLine = lastRecord.line + lineEnds - (isLastLineUnterminated ? 0 : 1)
    return {
      first: part === 0 ? 0 : paddedIndexes[first]!,
      end: end === records.length ? paddedSample.records.length : paddedIndexes[end - 1]! + 1,
      firstLine: records[first]!.line,
      headerLine: records[headerIndexes[part]!]!.line,
      lastLine,
    }
  })
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
 * True if a record is the header of a new table. `fieldCounts` has the number of fields of each record, including
 * empty fields at its end.
 */
function beginsTable(
  parsed: ParsedSample,
  sample: Uint8Array,
  partStart: number,
  index: number,
  fieldCounts: readonly number[],
): boolean {
  const { records, grammar } = parsed
  const header = records[index]!
  if (header.count < 2 || !hasOnlyText(header)) return false
  // A quick test: in a table of texts, most records are followed by text records, so they start no other table.
  if (hasOnlyText(records[index + 1]!) && hasOnlyText(records[index + 2]!)) return false
  const describeCandidate = (rowIndex: number): HeaderCandidate => ({
    record: records[rowIndex]!,
    texts: readCellTexts(sample, records[rowIndex]!, grammar),
  })
  const rowsBelow: HeaderCandidate[] = []
  for (let rowIndex = index + 1; rowsBelow.length < comparedRows; rowIndex++) {
    if (records[rowIndex]?.count !== header.count) break
    rowsBelow.push(describeCandidate(rowIndex))
  }
  const labels = describeCandidate(index)
  if (labels.texts.some(isNullText)) return false
  if (rowsBelow.length < minRowsBelowHeader || !areDistinct(labels) || sumHeaderVotes(labels, rowsBelow) <= 0)
    return false
  const firstTitle = firstTitleAbove(parsed, partStart, index)
  const hasTitle = firstTitle < index
  const recordsAbove = records.slice(partStart, firstTitle)
  const usualFieldCount = mostCommonFieldCount(recordsAbove)
  const usualIndexesAbove = recordsAbove.flatMap(({ count }, rowIndex) =>
    count === usualFieldCount ? [partStart + rowIndex] : [],
  )
  if (usualFieldCount < minColumns && usualIndexesAbove.length < minRowsOfNarrowTable) return false
  if (usualIndexesAbove.length <= minRowsBelowHeader) return false
  // Rows with fewer values than those above but the same number of fields may belong to the same table.
  const hasOtherPaddedWidth = fieldCounts[index] !== fieldCounts[usualIndexesAbove[0]!]
  if (header.count !== usualFieldCount && hasOtherPaddedWidth) return true
  const [firstRowAbove, ...otherRowsAbove] = usualIndexesAbove.slice(0, comparedRows).map(describeCandidate)
  const isRepeated =
    header.count === usualFieldCount &&
    labels.texts.every((text, column) => text.trim() === firstRowAbove!.texts[column]!.trim())
  const isNarrow = header.count < usualFieldCount && !hasTitle
  const neededVotes = isNarrow ? minVotesOfNarrowHeader : minVotes
  const hasGapAbove = hasTitle || isBlankAbove(parsed, index)
  return !isRepeated && hasGapAbove && sumHeaderVotes(labels, otherRowsAbove) >= neededVotes
}

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
  const isEmpty = filledWidths.every((width) => width === 0)
  const isPaddedBlankLine = (index: number) => !isEmpty && filledWidths[index] === 0 && parsed.records[index]!.count > 1
  const isTitle = (index: number) => filledWidths[index] === 1
  const indexes = parsed.records.flatMap((_, index) => (isPaddedBlankLine(index) ? [] : [index]))
  const records: SampleRecord[] = []
  for (let blockStart = 0; blockStart < indexes.length; ) {
    let blockEnd = blockStart + 1
    if (!isTitle(indexes[blockStart]!)) {
      const endsBlock = (at: number) => isTitle(indexes[at]!) || hasBlankLineBefore(parsed, indexes, at)
      while (blockEnd < indexes.length && !endsBlock(blockEnd)) blockEnd++
    }
    const blockIndexes = indexes.slice(blockStart, blockEnd)
    const width = Math.max(1, ...blockIndexes.map((index) => filledWidths[index]!))
    records.push(...blockIndexes.map((index) => shortenRecord(parsed.records[index]!, width)))
    blockStart = blockEnd
  }
  const paddedBlankLines = parsed.records.filter((_, index) => isPaddedBlankLine(index)).map(({ line }) => line)
  return { unpadded: { ...parsed, records, blankLines: [...parsed.blankLines, ...paddedBlankLines] }, indexes }
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
