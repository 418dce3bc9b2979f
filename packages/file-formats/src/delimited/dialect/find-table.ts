import { maxColumns } from '@sluice/row-stream'
import { IS_QUOTED } from '../record-scanner.ts'
import { readHeaderWithoutQuotes, readHeaderWithStrayQuotes } from './repair-header.ts'
import { readCellTexts, type ParsedSample, type SampleRecord } from './file-sample.ts'
import { EMPTY_CELL } from './cell-kind.ts'
import {
  areDistinct,
  type HeaderCandidate,
  sumHeaderVotes,
  isSeparatorLine,
  isTextKind,
  joinLabels,
  lookLikeLabels,
} from './header.ts'
import type { DelimitedOptions } from './delimited-options.ts'
import type { DelimitedGrammar } from './dialect.ts'
import { mostCommonFieldCount } from './choose-grammar.ts'
import { isNullText } from './guess-decimal-sign.ts'

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

const maxRecordsAboveTable = 100
/** The maximum number of titles that spreadsheet programs padded with delimiters. */
const maxTitles = 12
/** The maximum number of lines in a block above an empty line. */
const maxBlockLines = 20
const maxHeaderLines = 3
/**
 * The minimum score that the rows below must give to a further header line. One row is not enough, because the first
 * row may have a text, such as `unknown`, in a column of numbers.
 */
const minVotesForFurtherLine = 1.5
/** The minimum score for the first line of such a header. The rows must still look like rows of this header. */
const minVotesForFirstLine = 1
/** The minimum score for a header below a line of labels and an empty line. */
const minVotesBelowLabels = 1

/**
 * Finds the table in a parsed sample with at least one record. If the quotes of the header are broken, also replaces
 * the header's record in `parsed` by a repaired one.
 */
export function findTable(parsed: ParsedSample, sample: Uint8Array, options: DelimitedOptions): DetectedTable {
  const { records, grammar } = parsed
  const candidates = new Map<number, HeaderCandidate>()
  const headerAt = (index: number) => {
    const cachedCandidate = candidates.get(index)
    if (cachedCandidate) return cachedCandidate
    const candidate = { record: records[index]!, texts: readCellTexts(sample, records[index]!, grammar) }
    candidates.set(index, candidate)
    return candidate
  }
  const usualFieldCount = mostCommonFieldCount(records)
  const comparedRows = Math.max(20, Math.min(200, Math.floor(5_000 / usualFieldCount)))
  const rowsFrom = (index: number) =>
    records.slice(index, index + comparedRows).map((_, offset) => headerAt(index + offset))
  // A line with broken quotes is only a title if it contains no delimiter.
  const isBroken = ({ count, from, next }: SampleRecord) =>
    count === 0 && sample.subarray(from, next).includes(grammar.delimiter)
  const start = options.skipLines !== undefined ? 0 : tableStart(parsed, usualFieldCount, headerAt, rowsFrom, isBroken)
  const firstRecord = records[start]!
  if (firstRecord.count === 0 && options.headerRow !== false) {
    const repairedHeader = repairHeader(firstRecord, records.slice(start + 1), usualFieldCount, parsed, sample, options)
    records[start] = repairedHeader ?? firstRecord
    candidates.delete(start)
  }
  const header = headerAt(start)
  const rows = rowsFrom(start + 1).filter((row) => row.record.count === usualFieldCount && !isSeparatorLine(row))
  const votes = sumHeaderVotes(header, rows)
  const isTieWithLabels = votes === 0 && lookLikeLabels(header) && areDistinct(header)
  const isProbablyHeader = votes > 0 || isTieWithLabels || header.record.count === 0
  const hasHeader = options.headerRow ?? isProbablyHeader
  if (!hasHeader) records[start] = firstRecord
  const confidence = {
    start: start === 0 ? 1 : 0.8,
    header: votes === 0 ? 0.6 : Math.min(1, 0.7 + 0.1 * Math.abs(votes)),
  }
  if (!hasHeader) {
    const trailing = Math.min(
      options.trailingDelimiters ?? countEmptyFieldsAtEnd(records.slice(start), usualFieldCount),
      usualFieldCount - 1,
    )
    const width = usualFieldCount - trailing
    const labels = Array.from({ length: width }, (_, index) => `column_${index + 1}`)
    return { start, headerLines: 0, labels, trailing, width, isRepaired: false, unnamed: 0, confidence }
  }
  const headerLines = Math.min(
    options.headerLines ?? countHeaderLines(start, rows.length, headerAt, rowsFrom),
    records.length - start,
  )
  const lines = Array.from({ length: headerLines }, (_, index) => headerAt(start + index))
  const titleLines = lines.filter((line, index) => index === 0 || !isSeparatorLine(line)).map(({ texts }) => texts)
  const labels = titleLines.length === 1 ? [...titleLines[0]!] : joinLabels(titleLines)
  const body = records.slice(start + headerLines)
  const trailing = options.trailingDelimiters ?? countTrailing(labels, body, usualFieldCount)
  if (trailing === 0 && lacksLabelOfRowNames(header.record, body, usualFieldCount)) labels.unshift('')
  const indexesWithoutColumn =
    options.trailingDelimiters === undefined ? findLabelsWithoutColumn(labels, body, usualFieldCount) : []
  for (const index of indexesWithoutColumn.toReversed()) labels.splice(index, 1)
  const unnamed = indexesWithoutColumn.filter((index) => index < usualFieldCount).length
  const mayHeaderRepeat = votes >= 1 && headerLines === 1
  const repeatedHeader = mayHeaderRepeat ? findRepetition(header, records.slice(start + 1), sample, grammar) : undefined
  labels.length -= Math.max(0, Math.min(trailing, labels.length - (usualFieldCount - trailing)))
  // There are at most `maxColumns` labels, so for a wider header the width is its number of fields.
  const width = header.record.count > maxColumns ? header.record.count : labels.length
  return {
    start,
    headerLines,
    labels,
    trailing,
    width,
    isRepaired: header.record.mended === true,
    unnamed,
    ...(repeatedHeader && { repeatedHeader }),
    confidence,
  }
}

/**
 * Reads a header with broken quotes in another way: with quotes inside its labels if the options allow that, or else as
 * if quotes had no meaning, unless the options set the quote. Returns undefined if neither is possible.
 */
function repairHeader(
  header: SampleRecord,
  body: readonly SampleRecord[],
  columnCount: number,
  { grammar }: ParsedSample,
  sample: Uint8Array,
  options: DelimitedOptions,
): SampleRecord | undefined {
  const repairedHeader = readHeaderWithStrayQuotes(header, sample, grammar, columnCount)
  if (repairedHeader || options.quote !== undefined) return repairedHeader
  const maxUnnamedColumns = countEmptyFieldsAtEnd(body, columnCount)
  return readHeaderWithoutQuotes(header, sample, grammar, columnCount, maxUnnamedColumns)
}

/**
 * Finds the first later record with exactly the fields of the header. Returns undefined if the header was repaired,
 * because its repetitions are broken too.
 */
function findRepetition(
  { record, texts }: HeaderCandidate,
  body: readonly SampleRecord[],
  sample: Uint8Array,
  grammar: DelimitedGrammar,
): DetectedTable['repeatedHeader'] {
  if (record.mended) return undefined
  const lengthOf = ({ starts, ends }: SampleRecord, column: number) => ends[column]! - starts[column]!
  const repetition = body.find(
    (row) =>
      row.count === record.count &&
      // Comparing the lengths first is faster.
      texts.every((_, column) => lengthOf(row, column) === lengthOf(record, column)) &&
      readCellTexts(sample, row, grammar).every((text, column) => text === texts[column]),
  )
  return repetition && { texts, line: repetition.line }
}

/**
 * If the header has more labels than the rows usually have fields, returns the indexes of the empty labels that belong
 * to no column. Usually these are the empty labels at the end. If those are fewer than the excess labels, they are all
 * empty labels of the header, provided that these are as many as the excess, and no row has a field for every label.
 */
function findLabelsWithoutColumn(
  labels: readonly string[],
  body: readonly SampleRecord[],
  usualFieldCount: number,
): number[] {
  const excessLabels = labels.length - usualFieldCount
  if (excessLabels <= 0 || body.length === 0) return []
  const emptyIndexes = labels.flatMap((label, index) => (label === '' ? [index] : []))
  const lastNamedIndex = labels.findLastIndex((label) => label !== '')
  const emptyIndexesAtEnd = emptyIndexes.filter((index) => index > lastNamedIndex && index >= usualFieldCount)
  if (emptyIndexesAtEnd.length >= excessLabels) return emptyIndexesAtEnd
  const areEmptyLabelsTheExcess = emptyIndexes.length === excessLabels
  const noRowHasAllFields = body.every(({ count }) => count !== labels.length)
  return areEmptyLabelsTheExcess && noRowHasAllFields ? emptyIndexes : emptyIndexesAtEnd
}

/**
 * True if the first column has row names and no label, as R writes it: all labels and row names are quoted, and the
 * header has one label less than each row has fields. In any other header that is too short, it is unknown which label
 * is missing, so the rows are rejected.
 */
function lacksLabelOfRowNames(header: SampleRecord, body: readonly SampleRecord[], usualFieldCount: number): boolean {
  const isQuoted = ({ fieldFlags }: SampleRecord, index: number) => (fieldFlags[index]! & IS_QUOTED) !== 0
  return (
    header.count === usualFieldCount - 1 &&
    header.fieldFlags.every((_, index) => isQuoted(header, index)) &&
    body.length > 0 &&
    body.every((row) => row.count === usualFieldCount && isQuoted(row, 0))
  )
}

/**
 * Returns the number of trailing delimiters: fields at the end of rows that are always empty and have no label. The
 * header either has no fields for them, or has empty labels for them.
 */
function countTrailing(labels: readonly string[], body: readonly SampleRecord[], usualFieldCount: number): number {
  const emptyFields = countEmptyFieldsAtEnd(body, usualFieldCount)
  if (emptyFields === 0 || labels.length > usualFieldCount) return 0
  if (labels.length < usualFieldCount) {
    const missingLabels = usualFieldCount - labels.length
    return missingLabels <= emptyFields ? missingLabels : 0
  }
  let emptyLabels = 0
  while (emptyLabels < emptyFields && labels[labels.length - 1 - emptyLabels] === '') emptyLabels++
  return emptyLabels
}

/**
 * Counts the fields at the end that are empty and unquoted in all rows with `width` fields. The first field does not
 * count.
 */
function countEmptyFieldsAtEnd(body: readonly SampleRecord[], width: number): number {
  const rows = body.filter(({ count, kinds }) => count === width && kinds.length === width)
  if (rows.length === 0) return 0
  let emptyInAllRows = width - 1
  for (const row of rows) emptyInAllRows = countEmptyFieldsOfRow(row, emptyInAllRows)
  return emptyInAllRows
}

/** Counts the fields at the end of a row that are empty and unquoted, up to `maxCount`. */
function countEmptyFieldsOfRow({ starts, ends, fieldFlags }: SampleRecord, maxCount: number): number {
  const lastField = starts.length - 1
  let count = 0
  while (count < maxCount) {
    const field = lastField - count
    const isQuoted = (fieldFlags[field]! & IS_QUOTED) !== 0
    if (isQuoted || starts[field] !== ends[field]) break
    count++
  }
  return count
}

/**
 * Returns the index of the record with which the table starts: its header, if it has one. Usually this is the first
 * record with the usual number of fields, or the first broken one, because titles are rarely broken. Titles and blocks
 * above a blank line that have this number of fields are skipped too.
 */
function tableStart(
  { records, blankLines }: ParsedSample,
  usualFieldCount: number,
  headerAt: (index: number) => HeaderCandidate,
  rowsFrom: (index: number) => HeaderCandidate[],
  isBroken: (record: SampleRecord) => boolean,
): number {
  if (usualFieldCount === 1) return 0
  const limit = Math.min(maxRecordsAboveTable, records.length)
  const isHeader = (index: number) => sumHeaderVotes(headerAt(index), rowsFrom(index + 1)) > 0
  const firstUsual = records.slice(0, limit).findIndex((record) => record.count === usualFieldCount || isBroken(record))
  if (firstUsual < 0) return 0
  // A header may have one field too few or too many, so the record above may be the header.
  const above = firstUsual - 1
  const mayAboveBeHeader = above >= 0 && records[above]!.count > 1 && !isHeader(firstUsual)
  if (mayAboveBeHeader && lookLikeLabels(headerAt(above))) return above
  const belowTitles = skipTitles(firstUsual, limit, blankLines, headerAt, isHeader)
  return skipBlockAboveBlankLine(belowTitles, limit, { records, blankLines }, headerAt, rowsFrom)
}

/**
 * Skips titles that spreadsheet programs padded with delimiters: lines with few filled cells above a header with more.
 * Returns the index of the header, or `start` if no such titles exist.
 */
function skipTitles(
  start: number,
  limit: number,
  blankLines: readonly number[],
  headerAt: (index: number) => HeaderCandidate,
  isHeader: (index: number) => boolean,
): number {
  const filledKinds = (index: number) => headerAt(index).record.kinds.filter((kind) => kind !== EMPTY_CELL)
  let mostFilledCells = filledKinds(start).length
  const startsWithTitle = mostFilledCells <= 1
  if (!startsWithTitle) return start
  for (let index = start + 1; index < Math.min(limit - 1, start + maxTitles); index++) {
    const kinds = filledKinds(index)
    const record = headerAt(index).record
    const recordAbove = headerAt(index - 1).record
    const isBelowEmptyLine = filledKinds(index - 1).length === 0 || hasBlankLineBetween(recordAbove, record, blankLines)
    const hasMoreCells = kinds.length > mostFilledCells
    const hasSameFieldCount = record.count === headerAt(start).record.count
    const looksLikeHeader = isHeader(index) || (isBelowEmptyLine && kinds.length > 1)
    if (hasMoreCells && hasSameFieldCount && kinds.every(isTextKind) && looksLikeHeader) return index
    mostFilledCells = Math.max(mostFilledCells, kinds.length)
  }
  return start
}

const hasBlankLineBetween = (above: SampleRecord, below: SampleRecord, blankLines: readonly number[]): boolean =>
  blankLines.some((line) => line > above.line && line < below.line)

/**
 * Skips a block of lines at the start above an empty line, such as pairs of names and values, if a header follows the
 * empty line and more rows than the block has lines. Returns the index of the header, or `start` without such a block.
 */
function skipBlockAboveBlankLine(
  start: number,
  limit: number,
  { records, blankLines }: Pick<ParsedSample, 'records' | 'blankLines'>,
  headerAt: (index: number) => HeaderCandidate,
  rowsFrom: (index: number) => HeaderCandidate[],
): number {
  const votesAt = (index: number) => sumHeaderVotes(headerAt(index), rowsFrom(index + 1))
  const startsWithHeader = start === 0 && votesAt(0) > 0
  if (start !== 0 || startsWithHeader) return start
  // A single line of labels is usually the header, and the empty line separates it from its rows.
  const startsWithLabels = lookLikeLabels(headerAt(0)) && areDistinct(headerAt(0))
  for (let index = 1; index < Math.min(limit, maxBlockLines, records.length - 1); index++) {
    const isBelowBlankLine = hasBlankLineBetween(records[index - 1]!, records[index]!, blankLines)
    const isLongerThanBlock = records.length - index > index
    if (!isBelowBlankLine || !isLongerThanBlock) continue
    const isBelowSingleLineOfLabels = index === 1 && startsWithLabels
    const isHeader = isBelowSingleLineOfLabels
      ? lookLikeLabels(headerAt(index)) && votesAt(index) >= minVotesBelowLabels
      : votesAt(index) > 0
    if (isHeader) return index
  }
  return start
}

/**
 * Counts the records of the header that starts at `start`: all those above the first record that does not continue the
 * header. A line of dashes or tags below them counts too. `rowCount` is the number of records below the first one.
 */
function countHeaderLines(
  start: number,
  rowCount: number,
  headerAt: (index: number) => HeaderCandidate,
  rowsFrom: (index: number) => HeaderCandidate[],
): number {
  let lines = 1
  while (lines < maxHeaderLines && rowCount > lines + 1) {
    const next = start + lines
    if (!continuesHeader(headerAt(start), headerAt(next), () => rowsFrom(next + 1))) break
    lines++
  }
  const recordBelow = rowsFrom(start + lines)[0]
  const hasSeparatorLine =
    recordBelow !== undefined &&
    recordBelow.record.count === headerAt(start).record.count &&
    isSeparatorLine(recordBelow)
  return hasSeparatorLine ? lines + 1 : lines
}

/** True if a line below the header's first line also belongs to the header, judging by the rows below both lines. */
function continuesHeader(
  first: HeaderCandidate,
  next: HeaderCandidate,
  readRowsBelow: () => HeaderCandidate[],
): boolean {
  const hasOnlyLabels = next.record.kinds.every((kind) => kind === EMPTY_CELL || isTextKind(kind))
  // The first row of measurements may have no values yet.
  const isRowWithoutValues = next.texts.every((text) => text === '' || isNullText(text))
  const hasSameFieldCount = next.record.count === first.record.count
  if (isSeparatorLine(next) || isRowWithoutValues || !hasSameFieldCount || !hasOnlyLabels) return false
  const rows = readRowsBelow()
  return sumHeaderVotes(next, rows) >= minVotesForFurtherLine && sumHeaderVotes(first, rows) >= minVotesForFirstLine
}
