import type { DelimitedGrammar } from './dialect.ts'
import { afterLineEnd, countLineEnds, IS_QUOTED, COMPLETE_RECORD, RecordScanner } from '../record-scanner.ts'
import { cellKind, EMPTY_CELL, NUMBER_CELL, TIME_CELL } from './cell-kind.ts'
import { type FileSample, readAt, type ReadableFile } from './file-sample.ts'

/** Lines at the end of a file that are not rows. */
export interface DetectedFooter {
  /** The position of the footer in the file, or the file size without a footer. */
  from: number
  lines: number
  text: string
  /** The last row, if it may be a total although it is not recognised as a footer. Reported to the user. */
  doubt?: string
}

/** Properties of rows that distinguish them from footer lines. */
interface FooterShape {
  /** The number of fields of a row, including empty fields after the last column. */
  fields: number
  /** The position after the header in the file. A footer starts after it. */
  rowsFrom: number
  /** The kind of nearly all cells in the first column, if it is number or time. */
  firstKind: number | undefined
  /** True if empty lines also occur between rows, so that they do not mark the start of a footer. */
  hasGaps: boolean
}

const maxFooterLines = 30
const maxTextLength = 200

const LF = 10
const CR = 13

const notePattern =
  /^\W*(source|sources|note|notes|quelle|quellen|hinweis|anmerkung|fuente|fuentes|nota|notas|remarque|remarques|generated|exported|created|printed|end of|\(c\)|©)\b/i
const bulletPattern = /^\s*["']?\s*([*†‡#]|\(\d+\)|\d+\)|\[\d+\]|--)/
const totalPattern =
  /^\W*(grand total|sub-?total|total|totals|totale|totaux|sum|summe|gesamt|insgesamt|suma|somme|всего|итого)\b/iu

interface FooterLine {
  from: number
  text: string
  fields: string[]
  kinds: number[]
}

/**
 * Finds the lines after the last row that are clearly not rows: notes with one cell, and totals. An empty line
 * separates them from the rows, or their first words show what they are. Finds no footer if one of the lines may be a
 * row or a part of one; lines that do not fit are then rejected as rows. Also finds no footer in a table with one
 * column. If the last row looks like a total, or a total also occurs between the rows, finds no footer and returns the
 * text of that line as `doubt`.
 */
export function findFooter(
  sample: FileSample,
  fileSize: number,
  grammar: DelimitedGrammar,
  shape: FooterShape,
): DetectedFooter {
  const noFooter = { from: fileSize, lines: 0, text: '' }
  if (shape.fields < 2) return noFooter
  const linesAtEnd = readLinesAtEnd(sample, grammar, shape)
  if (!linesAtEnd) return noFooter
  const { lastRow, linesBelow } = linesAtEnd
  const noteLines = linesBelow.filter(hasValue)
  if (noteLines.length === 0) {
    const isLastRowTotal = totalPattern.test(firstText(lastRow.fields))
    return isLastRowTotal ? { ...noFooter, doubt: shortenText(lastRow.text) } : noFooter
  }
  const isBelowEmptyLine = !hasValue(linesBelow[0]!) && !shape.hasGaps
  const areNotes = isBelowEmptyLine || noteLines.every(startsLikeNote)
  if (!areNotes) return noFooter
  const subtotal = findSubtotal(noteLines, sample.tail, grammar)
  return subtotal ? { ...noFooter, doubt: shortenText(subtotal.text) } : describeFooter(noteLines, sample)
}

const hasValue = ({ kinds }: FooterLine) => kinds.some((kind) => kind !== EMPTY_CELL)

/**
 * Reads lines from the end of the file up to the last line that may be a row. Returns this row, and the lines below it
 * in their order. Returns undefined if the last lines have no such row, or if a line cannot be read.
 */
function readLinesAtEnd(
  { tail, tailFrom }: FileSample,
  grammar: DelimitedGrammar,
  shape: FooterShape,
): { lastRow: FooterLine; linesBelow: FooterLine[] } | undefined {
  const linesBelow: FooterLine[] = []
  for (let end = tail.length; end > 0 && linesBelow.length < maxFooterLines; ) {
    const from = startOfLine(tail, end)
    const isAboveRows = tailFrom + from < shape.rowsFrom
    if (isAboveRows) return undefined
    const line = readLine(tail, from, end, grammar)
    if (!line) return undefined
    if (hasValue(line) && isRow(line, shape)) return { lastRow: line, linesBelow }
    linesBelow.unshift(line)
    end = from
  }
  return undefined
}

/** Finds a line with a total and the same first cell as a row. It is a subtotal, so it stays a row of the table. */
function findSubtotal(
  noteLines: readonly FooterLine[],
  tail: Uint8Array,
  grammar: DelimitedGrammar,
): FooterLine | undefined {
  const rows = Buffer.from(tail.subarray(0, noteLines[0]!.from))
  const startsRow = (cell: string) => ['\n', '\r'].some((lineEnd) => rows.includes(lineEnd + cell))
  return noteLines.find(({ fields, text }) => totalPattern.test(fields[0]!) && startsRow(firstCell(text, grammar)))
}

/** Returns the footer from the first of the notes to the end of the file. */
function describeFooter(noteLines: readonly FooterLine[], { tail, tailFrom }: FileSample): DetectedFooter {
  const footerStart = noteLines[0]!.from
  const lastByte = tail.at(-1)
  const unterminatedLines = lastByte === LF || lastByte === CR ? 0 : 1
  return {
    from: tailFrom + footerStart,
    lines: countLineEnds(tail, footerStart, tail.length) + unterminatedLines,
    text: shortenText(noteLines.map((line) => line.text).join(' / ')),
  }
}

/** Returns the first cell with its delimiter. */
const firstCell = (text: string, { delimiter }: DelimitedGrammar) =>
  text.slice(0, text.indexOf(String.fromCharCode(delimiter)) + 1)

const shortenText = (text: string) => (text.length > maxTextLength ? `${text.slice(0, maxTextLength)}…` : text)

/** Returns the first field that is not empty. */
const firstText = (fields: readonly string[]): string => fields.find((field) => field !== '')!

/** True if the first words of a line are those of a note, a bullet or a total. */
function startsLikeNote({ fields }: FooterLine): boolean {
  const text = firstText(fields)
  return notePattern.test(text) || bulletPattern.test(text) || totalPattern.test(text)
}

/**
 * True if a line with values may be a row, by its number of fields and the words with which it starts:
 * - A line with another number of fields than a row may be a broken row if it has several values and starts neither
 *   like a total nor like a note.
 * - A total with the fields of a row may be a row unless it has empty fields, or its first cell is of another kind than
 *   the first cells of the rows.
 * - Any other line with the fields of a row may be a row unless its only value is a note in the first cell.
 */
function isRow(line: FooterLine, { fields, firstKind }: FooterShape): boolean {
  const filledCount = line.kinds.filter((kind) => kind !== EMPTY_CELL).length
  const text = firstText(line.fields)
  const isTotal = totalPattern.test(text)
  const hasFieldsOfRow = line.kinds.length === fields
  if (!hasFieldsOfRow) return filledCount > 1 && !isTotal && !notePattern.test(text)
  const isFirstCellFilled = line.kinds[0] !== EMPTY_CELL
  if (isTotal) {
    const hasOtherFirstKind = firstKind !== undefined && line.kinds[0] !== firstKind && isFirstCellFilled
    return !hasOtherFirstKind && filledCount === fields
  }
  const isPaddedNote = filledCount === 1 && fields > 2 && isFirstCellFilled && startsLikeNote(line)
  return !isPaddedNote
}

/**
 * Parses a line as one record. Returns undefined if a quote stays open or an unquoted field contains one, because the
 * line may then be the end of a longer record.
 */
function readLine(tail: Uint8Array, from: number, end: number, grammar: DelimitedGrammar): FooterLine | undefined {
  let textEnd = end
  while (textEnd > from && (tail[textEnd - 1] === LF || tail[textEnd - 1] === CR)) textEnd--
  const text = Buffer.from(tail.subarray(from, textEnd)).toString()
  if (textEnd === from) return { from, text, fields: [''], kinds: [EMPTY_CELL] }
  const scanner = new RecordScanner(grammar)
  if (scanner.scan(tail, from, textEnd, true) !== COMPLETE_RECORD) return undefined
  const { starts, ends, fieldFlags } = scanner
  const count = Math.min(scanner.count, starts.length)
  const indexes = Array.from({ length: count }, (_, index) => index)
  const hasStrayQuote = (i: number) =>
    (fieldFlags[i]! & IS_QUOTED) === 0 && tail.subarray(starts[i], ends[i]).includes(grammar.quote)
  if (grammar.quote >= 0 && indexes.some(hasStrayQuote)) return undefined
  return {
    from,
    text,
    fields: indexes.map((i) => Buffer.from(tail.subarray(starts[i], ends[i])).toString().trim()),
    kinds: indexes.map((i) => cellKind(tail, starts[i]!, ends[i]!, (fieldFlags[i]! & IS_QUOTED) !== 0)),
  }
}

/** Returns the start of the last line before `end`, which is the end of the text or the start of a line. */
function startOfLine(tail: Uint8Array, end: number): number {
  let position = end
  if (tail[position - 1] === LF) position--
  if (position > 0 && tail[position - 1] === CR) position--
  while (position > 0 && tail[position - 1] !== LF && tail[position - 1] !== CR) position--
  return position
}

/**
 * Returns NUMBER_CELL or TIME_CELL if nearly all filled cells are of this kind. Returns undefined otherwise, and for
 * fewer than three filled cells.
 */
export function commonKind(kinds: readonly number[]): number | undefined {
  const filledKinds = kinds.filter((kind) => kind !== EMPTY_CELL)
  if (filledKinds.length < 3) return undefined
  const countOf = (kind: number) => filledKinds.filter((filledKind) => filledKind === kind).length
  return [NUMBER_CELL, TIME_CELL].find((kind) => countOf(kind) >= 0.9 * filledKinds.length)
}

/**
 * Returns the last `requestedLines` lines of a file as the footer, but never lines above `rowsFrom`. If the end of the
 * file in the sample has fewer lines, reads eight times as many bytes, until they suffice or are the whole file.
 */
export function lastLines(
  file: ReadableFile,
  sample: FileSample,
  requestedLines: number,
  rowsFrom: number,
): DetectedFooter {
  if (requestedLines === 0) return { from: file.size, lines: 0, text: '' }
  let { tail, tailFrom } = sample
  for (;;) {
    const start = startOfLastLines(tail, requestedLines)
    const from = Math.max(tailFrom + start, rowsFrom)
    const isWholeFile = tailFrom <= sample.from
    if (start > 0 || isWholeFile || from === file.size) return { from, lines: requestedLines, text: '' }
    tailFrom = Math.max(sample.from, file.size - tail.length * 8)
    tail = readAt(file, tailFrom, file.size - tailFrom)
  }
}

/** Returns the start of the last lines of a text, or 0 if it has at most as many lines. */
function startOfLastLines(text: Uint8Array, lines: number): number {
  let position = text.length
  for (let line = 0; line < lines && position > 0; line++) position = startOfLine(text, position)
  return position
}

/** Returns the position after the first `lines` lines, or the end of `head` if it has fewer. */
export function skipLines(head: Uint8Array, lines: number): number {
  let position = 0
  for (let line = 0; line < lines; line++) {
    const lineEnd = afterLineEnd(head, position, head.length, true)
    if (lineEnd < 0) return head.length
    position = lineEnd
  }
  return position
}
