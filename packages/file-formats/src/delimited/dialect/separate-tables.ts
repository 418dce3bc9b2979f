import { countLineEnds } from '../record-scanner.ts'
import { EMPTY_CELL } from './cell-kind.ts'
import { usualWidth } from './choose-grammar.ts'
import { isNullSpelling } from './guess-decimal.ts'
import { areDistinct, type HeaderCandidate, isTextKind, sumHeaderVotes } from './header.ts'
import { cellTexts, type ParsedSample, type SampleRecord } from './sample.ts'

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

/** The number of records below a header that determine whether it is a header. */
const comparedRows = 20
const fewestRows = 2
/** A table with fewer columns and rows may be only names and values above the real table. */
const fewestColumns = 3
const manyRows = 10
/**
 * The minimum score against the rows above. In a row with empty cells at its end, a single text, such as `unknown`,
 * does not make the row a header, unless a title is above it.
 */
const leastVotes = 0.5
const votesOfNarrowHeader = 2

/**
 * Divides a sample into its tables. A further table starts with a record of labels. At least two rows below it must
 * have other kinds of cells and the same number of fields. In addition, either this number differs from that of the
 * rows above, or a blank line or a title is above the labels and they cannot be a row of the table above. A
 * repetition of the header, as in concatenated files, starts no new table. Padding of spreadsheet programs is ignored.
 */
export function separateTables(paddedSample: ParsedSample, sample: Uint8Array): TablePart[] {
  const { unpadded: unpaddedSample, indexes: paddedIndexes } = removePadding(paddedSample)
  const { records } = unpaddedSample
  const fieldCounts = paddedIndexes.map((index) => paddedSample.records[index]!.count)
  const partStarts = [0]
  const headerIndexes = [0]
  for (let index = fewestRows; index < records.length - fewestRows; index++) {
    if (!beginsTable(unpaddedSample, sample, partStarts.at(-1)!, index, fieldCounts)) continue
    partStarts.push(titlesAbove(unpaddedSample, partStarts.at(-1)!, index))
    headerIndexes.push(index)
  }
  headerIndexes[0] = firstUsual(records.slice(0, partStarts[1]))
  return partStarts.map((first, part) => {
    const end = partStarts[part + 1] ?? records.length
    const lastRecord = records[end - 1]!
    const lineEnds = countLineEnds(sample, lastRecord.from, lastRecord.next)
    const isLastLineOpen = lastRecord.next === lastRecord.from || ![10, 13].includes(sample[lastRecord.next - 1]!)
    const lastLine = lastRecord.line + lineEnds - (isLastLineOpen ? 0 : 1)
    return {
      first: part === 0 ? 0 : paddedIndexes[first]!,
      end: end === records.length ? paddedSample.records.length : paddedIndexes[end - 1]! + 1,
      firstLine: records[first]!.line,
      headerLine: records[headerIndexes[part]!]!.line,
      lastLine,
    }
  })
}

/** Returns the index of the first record with the usual number of fields. */
function firstUsual(records: readonly SampleRecord[]): number {
  const width = usualWidth(records)
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
    texts: cellTexts(sample, records[rowIndex]!, grammar),
  })
  const rowsBelow: HeaderCandidate[] = []
  for (
    let rowIndex = index + 1;
    records[rowIndex]?.count === header.count && rowsBelow.length < comparedRows;
    rowIndex++
  )
    rowsBelow.push(describeCandidate(rowIndex))
  const labels = describeCandidate(index)
  if (labels.texts.some(isNullSpelling)) return false
  if (rowsBelow.length < fewestRows || !areDistinct(labels) || sumHeaderVotes(labels, rowsBelow) <= 0) return false
  const firstTitle = titlesAbove(parsed, partStart, index)
  const hasTitle = firstTitle < index
  const recordsAbove = records.slice(partStart, firstTitle)
  const usualFieldCount = usualWidth(recordsAbove)
  const usualIndexesAbove = recordsAbove.flatMap(({ count }, rowIndex) =>
    count === usualFieldCount ? [partStart + rowIndex] : [],
  )
  if (usualFieldCount < fewestColumns && usualIndexesAbove.length < manyRows) return false
  if (usualIndexesAbove.length <= fewestRows) return false
  // Rows with fewer values than those above but the same number of fields may belong to the same table.
  if (header.count !== usualFieldCount && fieldCounts[index] !== fieldCounts[usualIndexesAbove[0]!]) return true
  const [firstRowAbove, ...otherRowsAbove] = usualIndexesAbove.slice(0, comparedRows).map(describeCandidate)
  const isRepeated =
    header.count === usualFieldCount &&
    labels.texts.every((text, column) => text.trim() === firstRowAbove!.texts[column]!.trim())
  const neededVotes = header.count < usualFieldCount && !hasTitle ? votesOfNarrowHeader : leastVotes
  return !isRepeated && hasGapAbove(parsed, partStart, index) && sumHeaderVotes(labels, otherRowsAbove) >= neededVotes
}

function hasOnlyText({ kinds }: SampleRecord): boolean {
  for (const kind of kinds) if (!isTextKind(kind)) return false
  return true
}

/** True if a blank line or a title is directly above a record. */
function hasGapAbove(parsed: ParsedSample, partStart: number, index: number): boolean {
  return titlesAbove(parsed, partStart, index) < index || isBlankAbove(parsed, index)
}

function isBlankAbove({ records, blankLines }: ParsedSample, index: number): boolean {
  const [previousLine, line] = [records[index - 1]!.line, records[index]!.line]
  return blankLines.some((blank) => blank > previousLine && blank < line)
}

/** Returns the index of the first title directly above a record. A title is a record with at most one filled cell. */
function titlesAbove({ records }: ParsedSample, partStart: number, index: number): number {
  let first = index
  while (first - 1 > partStart && records[first - 1]!.kinds.filter((kind) => kind !== EMPTY_CELL).length <= 1) {
    if (records[first - 1]!.count === 0) break
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
 * Removes padding. A line with only empty cells becomes a blank line, and a line with only its first cell filled
 * becomes a title with one cell. The lines between two of those lose the cells at the end that are empty in all of
 * them. A sample with only empty cells stays unchanged.
 */
function removePadding(parsed: ParsedSample): UnpaddedSample {
  const filledWidths = parsed.records.map(filledWidth)
  const isEmpty = filledWidths.every((width) => width === 0)
  const isPaddedBlank = (index: number) => !isEmpty && filledWidths[index] === 0 && parsed.records[index]!.count > 1
  const isTitle = (index: number) => filledWidths[index] === 1
  const indexes = parsed.records.flatMap((_, index) => (isPaddedBlank(index) ? [] : [index]))
  const records: SampleRecord[] = []
  for (let blockStart = 0; blockStart < indexes.length; ) {
    let blockEnd = blockStart + 1
    if (!isTitle(indexes[blockStart]!))
      while (blockEnd < indexes.length && !isTitle(indexes[blockEnd]!) && !hasBlankBetween(parsed, indexes, blockEnd))
        blockEnd++
    const blockIndexes = indexes.slice(blockStart, blockEnd)
    const width = Math.max(1, ...blockIndexes.map((index) => filledWidths[index]!))
    records.push(...blockIndexes.map((index) => shorten(parsed.records[index]!, width)))
    blockStart = blockEnd
  }
  const paddedBlanks = parsed.records.filter((_, index) => isPaddedBlank(index)).map(({ line }) => line)
  return { unpadded: { ...parsed, records, blankLines: [...parsed.blankLines, ...paddedBlanks] }, indexes }
}

/**
 * Returns the number of cells up to the last filled one. A record with more cells than were analysed counts as having
 * no padding.
 */
const filledWidth = ({ kinds, count }: SampleRecord): number =>
  kinds.length < count ? count : kinds.findLastIndex((kind) => kind !== EMPTY_CELL) + 1

/** True if a blank line, padded or not, is directly above a record. */
function hasBlankBetween({ records, blankLines }: ParsedSample, indexes: readonly number[], at: number): boolean {
  const [previousIndex, index] = [indexes[at - 1]!, indexes[at]!]
  if (index > previousIndex + 1) return true
  return blankLines.some((line) => line > records[previousIndex]!.line && line < records[index]!.line)
}

function shorten(record: SampleRecord, width: number): SampleRecord {
  if (record.count <= width) return record
  const { kinds, starts, ends, marks } = record
  return {
    ...record,
    count: width,
    kinds: kinds.subarray(0, width),
    starts: starts.subarray(0, width),
    ends: ends.subarray(0, width),
    marks: marks.subarray(0, width),
  }
}
