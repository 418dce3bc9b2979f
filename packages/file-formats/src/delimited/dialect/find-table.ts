import { maxColumns } from '@sluice/row-stream'
import { IS_QUOTED } from '../record-scanner.ts'
import { readHeaderWithoutQuotes, readHeaderWithStrayQuotes } from './repair-header.ts'
import { cellTexts, type ParsedSample, type SampleRecord } from './sample.ts'
import { EMPTY_CELL } from './cell-kind.ts'
import {
  areDistinct,
  type HeaderCandidate,
  sumHeaderVotes,
  isRule,
  isTextKind,
  joinLabels,
  lookLikeLabels,
} from './header.ts'
import type { DelimitedOptions } from './delimited-options.ts'
import type { DelimitedGrammar } from './dialect.ts'
import { usualWidth } from './choose-grammar.ts'
import { isNullSpelling } from './guess-decimal.ts'

/** The location of the table in a sample, and the labels of its columns. */
export interface DetectedTable {
  /** The index of the first record of the header, or of the first row without a header. */
  start: number
  headerLines: number
  labels: string[]
  /** The number of empty fields after the last column of every row. */
  trailing: number
  width: number
  /** True if the header's quotes are broken, so its labels were read as if quotes had no meaning. */
  isRepaired: boolean
  /** The number of empty labels that were left out, because the rows have no fields for them. */
  unnamed: number
  /** The texts of the header, if it occurs again between the rows, and the physical line of the first repetition. */
  repeatedHeader?: { texts: readonly string[]; line: number }
  confidence: { start: number; header: number }
}

const longestPreamble = 100
const longestTitles = 12
const deepestHeader = 3
/**
 * The minimum score that the rows below must give to a further header line. One row is not enough, because the first
 * row may have a text, such as `unknown`, in a column of numbers.
 */
const minVotesForFurtherLine = 1.5
/** The minimum score for the first line of such a header. The rows must still look like rows of this header. */
const minVotesForFirstLine = 1

/** Finds the table in a parsed sample with at least one record. */
export function findTable(parsed: ParsedSample, sample: Uint8Array, options: DelimitedOptions): DetectedTable {
  const { records, grammar } = parsed
  const candidates = new Map<number, HeaderCandidate>()
  const headerAt = (index: number) => {
    const checkedHeader = candidates.get(index)
    if (checkedHeader) return checkedHeader
    const candidate = { record: records[index]!, texts: cellTexts(sample, records[index]!, grammar) }
    candidates.set(index, candidate)
    return candidate
  }
  const usualFieldCount = usualWidth(records)
  const compared = Math.max(20, Math.min(200, Math.floor(5_000 / usualFieldCount)))
  const rowsFrom = (index: number) =>
    records.slice(index, index + compared).map((_, offset) => headerAt(index + offset))
  // A line with broken quotes is only a title if it contains no delimiter.
  const isBroken = ({ count, from, next }: SampleRecord) =>
    count === 0 && sample.subarray(from, next).includes(grammar.delimiter)
  const start = options.skipLines !== undefined ? 0 : tableStart(parsed, usualFieldCount, headerAt, rowsFrom, isBroken)
  const brokenRecord = records[start]!
  if (brokenRecord.count === 0 && options.headerRow !== false) {
    const unnamedCount = emptyAtEnd(records.slice(start + 1), usualFieldCount)
    // The options for quotes apply to the header too.
    const repairedHeader =
      readHeaderWithStrayQuotes(brokenRecord, sample, grammar, usualFieldCount) ??
      (options.quote === undefined
        ? readHeaderWithoutQuotes(brokenRecord, sample, grammar, usualFieldCount, unnamedCount)
        : undefined)
    records[start] = repairedHeader ?? brokenRecord
    candidates.delete(start)
  }
  const first = headerAt(start)
  const rows = rowsFrom(start + 1).filter((row) => row.record.count === usualFieldCount && !isRule(row))
  const votes = sumHeaderVotes(first, rows)
  const isLikelyHeader =
    votes > 0 || (votes === 0 && lookLikeLabels(first) && areDistinct(first)) || first.record.count === 0
  const hasHeaderRow = options.headerRow ?? isLikelyHeader
  if (!hasHeaderRow) records[start] = brokenRecord
  const confidence = {
    start: start === 0 ? 1 : 0.8,
    header: votes === 0 ? 0.6 : Math.min(1, 0.7 + 0.1 * Math.abs(votes)),
  }
  if (!hasHeaderRow) {
    const trailingCount = Math.min(
      options.trailingDelimiters ?? emptyAtEnd(records.slice(start), usualFieldCount),
      usualFieldCount - 1,
    )
    const width = usualFieldCount - trailingCount
    const labels = Array.from({ length: width }, (_, index) => `column_${index + 1}`)
    return { start, headerLines: 0, labels, trailing: trailingCount, width, isRepaired: false, unnamed: 0, confidence }
  }
  const headerLines = Math.min(
    options.headerLines ?? headerDepth(start, rows.length, headerAt, rowsFrom),
    records.length - start,
  )
  const lines = Array.from({ length: headerLines }, (_, index) => headerAt(start + index))
  const titleLines = lines.filter((line, index) => index === 0 || !isRule(line)).map(({ texts }) => texts)
  const labels = titleLines.length === 1 ? [...titleLines[0]!] : joinLabels(titleLines)
  const body = records.slice(start + headerLines)
  const trailingCount = options.trailingDelimiters ?? countTrailing(labels, body, usualFieldCount)
  if (trailingCount === 0 && namesNoRowLabels(first.record, body, usualFieldCount)) labels.unshift('')
  const surplusIndexes = options.trailingDelimiters === undefined ? unnamedSurplus(labels, body, usualFieldCount) : []
  for (const index of surplusIndexes.toReversed()) labels.splice(index, 1)
  const unnamedCount = surplusIndexes.filter((index) => index < usualFieldCount).length
  const repeatedHeader =
    votes >= 1 && headerLines === 1 ? findRepetition(first, records.slice(start + 1), sample, grammar) : undefined
  labels.length -= Math.max(0, Math.min(trailingCount, labels.length - (usualFieldCount - trailingCount)))
  // There are at most `maxColumns` labels, so for a wider header the width is its number of fields.
  const width = first.record.count > maxColumns ? first.record.count : labels.length
  return {
    start,
    headerLines,
    labels,
    trailing: trailingCount,
    width,
    isRepaired: first.record.mended === true,
    unnamed: unnamedCount,
    ...(repeatedHeader && { repeatedHeader }),
    confidence,
  }
}

/** Finds the first later record with exactly the fields of the header. */
function findRepetition(
  { record, texts }: HeaderCandidate,
  recordsBelow: readonly SampleRecord[],
  sample: Uint8Array,
  grammar: DelimitedGrammar,
): DetectedTable['repeatedHeader'] {
  if (record.mended) return undefined
  const lengthOf = ({ starts, ends }: SampleRecord, column: number) => ends[column]! - starts[column]!
  const repetition = recordsBelow.find(
    (laterRecord) =>
      laterRecord.count === record.count &&
      texts.every((_, column) => lengthOf(laterRecord, column) === lengthOf(record, column)) &&
      cellTexts(sample, laterRecord, grammar).every((text, column) => text === texts[column]),
  )
  return repetition && { texts, line: repetition.line }
}

/**
 * If the header has more labels than the rows have fields, returns the indexes of empty labels without a column. These
 * are the empty labels at the end, or all empty labels if each row then has a value for every remaining label.
 */
function unnamedSurplus(labels: readonly string[], body: readonly SampleRecord[], usualFieldCount: number): number[] {
  const surplusCount = labels.length - usualFieldCount
  if (surplusCount <= 0 || body.length === 0) return []
  const unnamedIndexes = labels.flatMap((label, index) => (label === '' ? [index] : []))
  const lastNamed = labels.findLastIndex((label) => label !== '')
  const atEnd = unnamedIndexes.filter((index) => index > lastNamed && index >= usualFieldCount)
  const hasNoFittingRecord = body.every(({ count }) => count !== labels.length)
  return atEnd.length < surplusCount && unnamedIndexes.length === surplusCount && hasNoFittingRecord
    ? unnamedIndexes
    : atEnd
}

/**
 * True if the first column has row names and no label, as R writes it: all labels and row names are quoted, and the
 * header has one label less than each row has fields. In any other header that is too short, it is unknown which label
 * is missing, so the rows are rejected.
 */
function namesNoRowLabels(header: SampleRecord, body: readonly SampleRecord[], usualFieldCount: number): boolean {
  const isQuoted = ({ marks }: SampleRecord, index: number) => (marks[index]! & IS_QUOTED) !== 0
  return (
    header.count === usualFieldCount - 1 &&
    header.marks.every((_, index) => isQuoted(header, index)) &&
    body.length > 0 &&
    body.every((row) => row.count === usualFieldCount && isQuoted(row, 0))
  )
}

/** Counts the fields at the end of rows that are always empty, if the header has labels for all or none of them. */
function countTrailing(labels: readonly string[], body: readonly SampleRecord[], usualFieldCount: number): number {
  const emptyColumns = emptyAtEnd(body, usualFieldCount)
  if (emptyColumns === 0) return 0
  if (labels.length < usualFieldCount)
    return usualFieldCount - labels.length <= emptyColumns ? usualFieldCount - labels.length : 0
  if (labels.length > usualFieldCount) return 0
  let unnamedCount = 0
  while (unnamedCount < emptyColumns && labels[labels.length - 1 - unnamedCount] === '') unnamedCount++
  return unnamedCount
}

/** Counts the fields at the end that are empty and unquoted in all rows of this width. Leaves at least one column. */
function emptyAtEnd(body: readonly SampleRecord[], width: number): number {
  const rows = body.filter(({ count, kinds }) => count === width && kinds.length === width)
  if (rows.length === 0) return 0
  const lastColumn = width - 1
  let emptyInAll = lastColumn
  for (const { starts, ends, marks } of rows) {
    let emptyColumns = 0
    while (
      emptyColumns < emptyInAll &&
      starts[lastColumn - emptyColumns] === ends[lastColumn - emptyColumns] &&
      marks[lastColumn - emptyColumns]! < IS_QUOTED
    )
      emptyColumns++
    emptyInAll = emptyColumns
  }
  return emptyInAll
}

/**
 * Returns the index of the record with which the table starts: its header, if it has one. `usualFieldCount` is the
 * usual number of fields.
 */
function tableStart(
  { records, blankLines }: ParsedSample,
  usualFieldCount: number,
  headerAt: (index: number) => HeaderCandidate,
  rowsFrom: (index: number) => HeaderCandidate[],
  isBroken: (record: SampleRecord) => boolean,
): number {
  if (usualFieldCount === 1) return 0
  const limit = Math.min(longestPreamble, records.length)
  const isHeader = (index: number) => sumHeaderVotes(headerAt(index), rowsFrom(index + 1)) > 0
  let start = 0
  while (start < limit && records[start]!.count !== usualFieldCount && !isBroken(records[start]!)) start++
  if (start === limit) return 0
  // A header may have one field too few or too many.
  const indexAbove = start - 1
  if (indexAbove >= 0 && records[indexAbove]!.count > 1 && !isHeader(start) && lookLikeLabels(headerAt(indexAbove)))
    return indexAbove
  start = skipTitles(start, limit, blankLines, headerAt, isHeader)
  return skipBlock(start, limit, records, blankLines, isHeader)
}

/** Skips titles that spreadsheet programs pad with delimiters: lines with few filled cells above a header with more. */
function skipTitles(
  start: number,
  limit: number,
  blankLines: readonly number[],
  headerAt: (index: number) => HeaderCandidate,
  isHeader: (index: number) => boolean,
): number {
  const filledCells = (index: number) => headerAt(index).record.kinds.filter((kind) => kind !== EMPTY_CELL)
  let maxFilledCells = filledCells(start).length
  if (maxFilledCells > 1) return start
  let isAfterEmptyLine = maxFilledCells === 0
  for (let next = start + 1; next < Math.min(limit - 1, start + longestTitles); next++) {
    const nextFilledCells = filledCells(next)
    const [previousLine, nextLine] = [headerAt(next - 1).record.line, headerAt(next).record.line]
    isAfterEmptyLine ||= blankLines.some((blank) => blank > previousLine && blank < nextLine)
    const hasMore =
      nextFilledCells.length > maxFilledCells && headerAt(next).record.count === headerAt(start).record.count
    if (
      hasMore &&
      nextFilledCells.every(isTextKind) &&
      (isHeader(next) || (isAfterEmptyLine && nextFilledCells.length > 1))
    )
      return next
    maxFilledCells = Math.max(maxFilledCells, nextFilledCells.length)
    isAfterEmptyLine = nextFilledCells.length === 0
  }
  return start
}

/**
 * Skips a block of lines above an empty line, such as pairs of names and values, if a header follows the empty line.
 */
function skipBlock(
  start: number,
  limit: number,
  records: readonly SampleRecord[],
  blankLines: readonly number[],
  isHeader: (index: number) => boolean,
): number {
  if (start !== 0 || isHeader(0)) return start
  for (let index = 1; index < Math.min(limit, 20, records.length - 1); index++) {
    const hasBlankLineAbove = blankLines.some((line) => line > records[index - 1]!.line && line < records[index]!.line)
    if (hasBlankLineAbove && records.length - index > index && isHeader(index)) return index
  }
  return start
}

/** Counts the records of the header: all those above the first record with the same kinds of cells as the rows. */
function headerDepth(
  start: number,
  recordCount: number,
  headerAt: (index: number) => HeaderCandidate,
  rowsFrom: (index: number) => HeaderCandidate[],
): number {
  let lineCount = 1
  while (lineCount < deepestHeader && recordCount > lineCount + 1) {
    const nextIndex = start + lineCount
    if (!continuesHeader(headerAt(start), headerAt(nextIndex), () => rowsFrom(nextIndex + 1))) break
    lineCount++
  }
  const firstRowBelow = rowsFrom(start + lineCount)[0]
  return firstRowBelow && firstRowBelow.record.count === headerAt(start).record.count && isRule(firstRowBelow)
    ? lineCount + 1
    : lineCount
}

/** True if a line below the header's first line also belongs to the header, judging by the rows below both lines. */
function continuesHeader(
  first: HeaderCandidate,
  next: HeaderCandidate,
  readRowsBelow: () => HeaderCandidate[],
): boolean {
  const hasOnlyLabels = next.record.kinds.every((kind) => kind === EMPTY_CELL || isTextKind(kind))
  // The first row of measurements may have no values yet.
  const isRowWithoutValues = next.texts.every((text) => text === '' || isNullSpelling(text))
  if (isRule(next) || isRowWithoutValues || next.record.count !== first.record.count || !hasOnlyLabels) return false
  const rowsBelow = readRowsBelow()
  return (
    sumHeaderVotes(next, rowsBelow) >= minVotesForFurtherLine &&
    sumHeaderVotes(first, rowsBelow) >= minVotesForFirstLine
  )
}
