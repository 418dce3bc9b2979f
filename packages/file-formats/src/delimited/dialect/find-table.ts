import { maxColumns } from '@sluice/row-stream'
import { IS_QUOTED } from '../record-scanner.ts'
import { readHeaderWithoutQuotes, readHeaderWithStrayQuotes } from './repair-header.ts'
import { cellTexts, type ParsedSample, type SampleRecord } from './sample.ts'
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
    const checked = candidates.get(index)
    if (checked) return checked
    const candidate = { record: records[index]!, texts: cellTexts(sample, records[index]!, grammar) }
    candidates.set(index, candidate)
    return candidate
  }
  const wide = usualWidth(records)
  const compared = Math.max(20, Math.min(200, Math.floor(5_000 / wide)))
  const rowsFrom = (index: number) =>
    records.slice(index, index + compared).map((_, offset) => headerAt(index + offset))
  // A line with broken quotes is only a title if it contains no delimiter.
  const isBroken = ({ count, from, next }: SampleRecord) =>
    count === 0 && sample.subarray(from, next).includes(grammar.delimiter)
  const start = options.skipLines !== undefined ? 0 : tableStart(parsed, wide, headerAt, rowsFrom, isBroken)
  const broken = records[start]!
  if (broken.count === 0 && options.headerRow !== false) {
    const unnamed = emptyAtEnd(records.slice(start + 1), wide)
    // The options for quotes apply to the header too.
    const repaired =
      readHeaderWithStrayQuotes(broken, sample, grammar, wide) ??
      (options.quote === undefined ? readHeaderWithoutQuotes(broken, sample, grammar, wide, unnamed) : undefined)
    records[start] = repaired ?? broken
    candidates.delete(start)
  }
  const first = headerAt(start)
  const rows = rowsFrom(start + 1).filter((row) => row.record.count === wide && !isSeparatorLine(row))
  const votes = sumHeaderVotes(first, rows)
  const guess = votes > 0 || (votes === 0 && lookLikeLabels(first) && areDistinct(first)) || first.record.count === 0
  const headerRow = options.headerRow ?? guess
  if (!headerRow) records[start] = broken
  const confidence = {
    start: start === 0 ? 1 : 0.8,
    header: votes === 0 ? 0.6 : Math.min(1, 0.7 + 0.1 * Math.abs(votes)),
  }
  if (!headerRow) {
    const trailing = Math.min(options.trailingDelimiters ?? emptyAtEnd(records.slice(start), wide), wide - 1)
    const width = wide - trailing
    const labels = Array.from({ length: width }, (_, index) => `column_${index + 1}`)
    return { start, headerLines: 0, labels, trailing, width, isRepaired: false, unnamed: 0, confidence }
  }
  const headerLines = Math.min(
    options.headerLines ?? headerDepth(start, rows.length, headerAt, rowsFrom),
    records.length - start,
  )
  const lines = Array.from({ length: headerLines }, (_, index) => headerAt(start + index))
  const titleLines = lines.filter((line, index) => index === 0 || !isSeparatorLine(line)).map(({ texts }) => texts)
  const labels = titleLines.length === 1 ? [...titleLines[0]!] : joinLabels(titleLines)
  const body = records.slice(start + headerLines)
  const trailing = options.trailingDelimiters ?? countTrailing(labels, body, wide)
  if (trailing === 0 && namesNoRowLabels(first.record, body, wide)) labels.unshift('')
  const surplus = options.trailingDelimiters === undefined ? unnamedSurplus(labels, body, wide) : []
  for (const index of surplus.toReversed()) labels.splice(index, 1)
  const unnamed = surplus.filter((index) => index < wide).length
  const repeatedHeader =
    votes >= 1 && headerLines === 1 ? findRepetition(first, records.slice(start + 1), sample, grammar) : undefined
  labels.length -= Math.max(0, Math.min(trailing, labels.length - (wide - trailing)))
  // There are at most `maxColumns` labels, so for a wider header the width is its number of fields.
  const width = first.record.count > maxColumns ? first.record.count : labels.length
  return {
    start,
    headerLines,
    labels,
    trailing,
    width,
    isRepaired: first.record.mended === true,
    unnamed,
    ...(repeatedHeader && { repeatedHeader }),
    confidence,
  }
}

/** Finds the first later record with exactly the fields of the header. */
function findRepetition(
  { record, texts }: HeaderCandidate,
  body: readonly SampleRecord[],
  sample: Uint8Array,
  grammar: DelimitedGrammar,
): DetectedTable['repeatedHeader'] {
  if (record.mended) return undefined
  const lengthOf = ({ starts, ends }: SampleRecord, column: number) => ends[column]! - starts[column]!
  const repetition = body.find(
    (other) =>
      other.count === record.count &&
      texts.every((_, column) => lengthOf(other, column) === lengthOf(record, column)) &&
      cellTexts(sample, other, grammar).every((text, column) => text === texts[column]),
  )
  return repetition && { texts, line: repetition.line }
}

/**
 * If the header has more labels than the rows have fields, returns the indexes of empty labels without a column. These
 * are the empty labels at the end, or all empty labels if each row then has a value for every remaining label.
 */
function unnamedSurplus(labels: readonly string[], body: readonly SampleRecord[], wide: number): number[] {
  const surplus = labels.length - wide
  if (surplus <= 0 || body.length === 0) return []
  const unnamed = labels.flatMap((label, index) => (label === '' ? [index] : []))
  const lastNamed = labels.findLastIndex((label) => label !== '')
  const atEnd = unnamed.filter((index) => index > lastNamed && index >= wide)
  const noneFits = body.every(({ count }) => count !== labels.length)
  return atEnd.length < surplus && unnamed.length === surplus && noneFits ? unnamed : atEnd
}

/**
 * True if the first column has row names and no label, as R writes it: all labels and row names are quoted, and the
 * header has one label less than each row has fields. In any other header that is too short, it is unknown which label
 * is missing, so the rows are rejected.
 */
function namesNoRowLabels(header: SampleRecord, body: readonly SampleRecord[], wide: number): boolean {
  const quoted = ({ marks }: SampleRecord, index: number) => (marks[index]! & IS_QUOTED) !== 0
  return (
    header.count === wide - 1 &&
    header.marks.every((_, index) => quoted(header, index)) &&
    body.length > 0 &&
    body.every((row) => row.count === wide && quoted(row, 0))
  )
}

/** Counts the fields at the end of rows that are always empty, if the header has labels for all or none of them. */
function countTrailing(labels: readonly string[], body: readonly SampleRecord[], wide: number): number {
  const empty = emptyAtEnd(body, wide)
  if (empty === 0) return 0
  if (labels.length < wide) return wide - labels.length <= empty ? wide - labels.length : 0
  if (labels.length > wide) return 0
  let unnamed = 0
  while (unnamed < empty && labels[labels.length - 1 - unnamed] === '') unnamed++
  return unnamed
}

/** Counts the fields at the end that are empty and unquoted in all rows of this width. Leaves at least one column. */
function emptyAtEnd(body: readonly SampleRecord[], width: number): number {
  const rows = body.filter(({ count, kinds }) => count === width && kinds.length === width)
  if (rows.length === 0) return 0
  const last = width - 1
  let emptyInAll = last
  for (const { starts, ends, marks } of rows) {
    let empty = 0
    while (empty < emptyInAll && starts[last - empty] === ends[last - empty] && marks[last - empty]! < IS_QUOTED)
      empty++
    emptyInAll = empty
  }
  return emptyInAll
}

/**
 * Returns the index of the record with which the table starts: its header, if it has one. A broken record ends
 * the text above the table, because titles are rarely broken.
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
  const above = start - 1
  if (above >= 0 && records[above]!.count > 1 && !isHeader(start) && lookLikeLabels(headerAt(above))) return above
  start = skipTitles(start, limit, blankLines, headerAt, isHeader)
  return skipBlockAboveBlankLine(start, limit, records, blankLines, isHeader)
}

/** Skips titles that spreadsheet programs pad with delimiters: lines with few filled cells above a header with more. */
function skipTitles(
  start: number,
  limit: number,
  blankLines: readonly number[],
  headerAt: (index: number) => HeaderCandidate,
  isHeader: (index: number) => boolean,
): number {
  const filled = (index: number) => headerAt(index).record.kinds.filter((kind) => kind !== EMPTY_CELL)
  let most = filled(start).length
  if (most > 1) return start
  let wasEmpty = most === 0
  for (let next = start + 1; next < Math.min(limit - 1, start + longestTitles); next++) {
    const cells = filled(next)
    const [above, line] = [headerAt(next - 1).record.line, headerAt(next).record.line]
    wasEmpty ||= blankLines.some((blank) => blank > above && blank < line)
    const hasMore = cells.length > most && headerAt(next).record.count === headerAt(start).record.count
    if (hasMore && cells.every(isTextKind) && (isHeader(next) || (wasEmpty && cells.length > 1))) return next
    most = Math.max(most, cells.length)
    wasEmpty = cells.length === 0
  }
  return start
}

/**
 * Skips a block of lines above an empty line, such as pairs of names and values, if a header follows the empty line.
 */
function skipBlockAboveBlankLine(
  start: number,
  limit: number,
  records: readonly SampleRecord[],
  blankLines: readonly number[],
  isHeader: (index: number) => boolean,
): number {
  if (start !== 0 || isHeader(0)) return start
  for (let index = 1; index < Math.min(limit, 20, records.length - 1); index++) {
    const gap = blankLines.some((line) => line > records[index - 1]!.line && line < records[index]!.line)
    if (gap && records.length - index > index && isHeader(index)) return index
  }
  return start
}

/** Counts the records of the header: all those above the first record with the same kinds of cells as the rows. */
function headerDepth(
  start: number,
  rows: number,
  headerAt: (index: number) => HeaderCandidate,
  rowsFrom: (index: number) => HeaderCandidate[],
): number {
  let lines = 1
  while (lines < deepestHeader && rows > lines + 1) {
    const next = start + lines
    if (!continuesHeader(headerAt(start), headerAt(next), () => rowsFrom(next + 1))) break
    lines++
  }
  const below = rowsFrom(start + lines)[0]
  return below && below.record.count === headerAt(start).record.count && isSeparatorLine(below) ? lines + 1 : lines
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
  if (isSeparatorLine(next) || isRowWithoutValues || next.record.count !== first.record.count || !hasOnlyLabels)
    return false
  const below = readRowsBelow()
  return sumHeaderVotes(next, below) >= minVotesForFurtherLine && sumHeaderVotes(first, below) >= minVotesForFirstLine
}
