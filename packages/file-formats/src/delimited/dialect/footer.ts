import type { DelimitedGrammar } from './dialect.ts'
import { afterLineEnd, countLineEnds, IS_QUOTED, COMPLETE_RECORD, RecordScanner } from '../record-scanner.ts'
import { cellKind, EMPTY_CELL, NUMBER_CELL, TIME_CELL } from './cell-kind.ts'
import { type FileSample, readAt, type ReadableFile } from './sample.ts'

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

const maxLines = 30
const shownText = 200

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
 * Finds lines after the last row that are clearly no rows: notes with one cell, and totals. They are separated by an
 * empty line, or recognised by their first words. If one line may be a row or a part of one, no line is removed; lines
 * that do not fit are then rejected as rows. Tables with one column have no footer. If the last row or a note looks
 * like a total but stays a row, returns its text as `doubt`.
 */
export function findFooter(
  sample: FileSample,
  fileSize: number,
  grammar: DelimitedGrammar,
  shape: FooterShape,
): DetectedFooter {
  const noFooter = { from: fileSize, lines: 0, text: '' }
  if (shape.fields < 2) return noFooter
  const footerLines: FooterLine[] = []
  let end = sample.tail.length
  let isAfterEmptyLine = false
  let hasReachedRow = false
  while (end > 0 && footerLines.length < maxLines) {
    const from = startOfLine(sample.tail, end)
    if (sample.tailFrom + from < shape.rowsFrom) break
    const line = readLine(sample.tail, from, end, grammar)
    if (!line) return noFooter
    const filledCount = line.kinds.filter((kind) => kind !== EMPTY_CELL).length
    if (filledCount > 0 && isRow(line, filledCount, shape)) {
      hasReachedRow = true
      const isLastFilledLine = footerLines.every(({ kinds }) => kinds.every((kind) => kind === EMPTY_CELL))
      if (isLastFilledLine && totalPattern.test(line.fields.find((field) => field !== '')!))
        return { ...noFooter, doubt: shortenText(line.text) }
      break
    }
    footerLines.unshift(line)
    isAfterEmptyLine = filledCount === 0 && !shape.hasGaps
    end = from
  }
  const noteLines = footerLines.filter(({ kinds }) => kinds.some((kind) => kind !== EMPTY_CELL))
  if (!hasReachedRow || noteLines.length === 0 || !(isAfterEmptyLine || noteLines.every(isMeaningful))) return noFooter
  // If a similar total occurs between the rows, both are subtotals and stay.
  const rows = Buffer.from(sample.tail.subarray(0, noteLines[0]!.from))
  const subtotal = noteLines.find(({ fields, text }) => {
    const cell = firstCell(text, grammar)
    return totalPattern.test(fields[0]!) && ['\n', '\r'].some((lineEnd) => rows.includes(lineEnd + cell))
  })
  if (subtotal) return { ...noFooter, doubt: shortenText(subtotal.text) }
  const from = sample.tailFrom + noteLines[0]!.from
  const lineEndCount = countLineEnds(sample.tail, noteLines[0]!.from, sample.tail.length)
  const unterminatedLines = !/[\r\n]$/.test(String.fromCharCode(sample.tail.at(-1)!)) ? 1 : 0
  const text = noteLines.map((line) => line.text).join(' / ')
  return { from, lines: lineEndCount + unterminatedLines, text: shortenText(text) }
}

/** Returns the first cell with its delimiter. */
const firstCell = (text: string, { delimiter }: DelimitedGrammar) =>
  text.slice(0, text.indexOf(String.fromCharCode(delimiter)) + 1)

const shortenText = (text: string) => (text.length > shownText ? `${text.slice(0, shownText)}…` : text)

const isMeaningful = ({ fields }: FooterLine) => {
  const first = fields.find((field) => field !== '')!
  return notePattern.test(first) || bulletPattern.test(first) || totalPattern.test(first)
}

/**
 * True if a line may be a row. Either it has a value in each field and is neither a total nor a padded note, or it is
 * too long for a note.
 */
function isRow(line: FooterLine, filledCount: number, { fields, firstKind }: FooterShape): boolean {
  const first = line.fields.find((field) => field !== '')!
  if (line.kinds.length === fields) {
    const hasOtherFirstKind = firstKind !== undefined && line.kinds[0] !== firstKind && line.kinds[0] !== EMPTY_CELL
    if (totalPattern.test(first)) return !(hasOtherFirstKind || filledCount < fields)
    return !(filledCount === 1 && fields > 2 && line.kinds[0] !== EMPTY_CELL && isMeaningful(line))
  }
  return filledCount > 1 && !totalPattern.test(first) && !notePattern.test(first)
}

/**
 * Parses a line as one record. Returns undefined if a quote stays open, because the line may be the end of a longer
 * record.
 */
function readLine(tail: Uint8Array, from: number, end: number, grammar: DelimitedGrammar): FooterLine | undefined {
  let textEnd = end
  while (textEnd > from && (tail[textEnd - 1] === 10 || tail[textEnd - 1] === 13)) textEnd--
  const text = Buffer.from(tail.subarray(from, textEnd)).toString()
  if (textEnd === from) return { from, text, fields: [''], kinds: [EMPTY_CELL] }
  const scanner = new RecordScanner(grammar)
  if (scanner.scan(tail, from, textEnd, true) !== COMPLETE_RECORD) return undefined
  const { starts, ends, marks } = scanner
  const count = Math.min(scanner.count, starts.length)
  const indexes = Array.from({ length: count }, (_, index) => index)
  const isStray = (i: number) =>
    (marks[i]! & IS_QUOTED) === 0 && tail.subarray(starts[i], ends[i]).includes(grammar.quote)
  if (grammar.quote >= 0 && indexes.some(isStray)) return undefined
  return {
    from,
    text,
    fields: indexes.map((i) => Buffer.from(tail.subarray(starts[i], ends[i])).toString().trim()),
    kinds: indexes.map((i) => cellKind(tail, starts[i]!, ends[i]!, (marks[i]! & IS_QUOTED) !== 0)),
  }
}

/** Returns the start of the last line before `end`. */
function startOfLine(tail: Uint8Array, end: number): number {
  let position = end
  if (tail[position - 1] === 10) position--
  if (position > 0 && tail[position - 1] === 13) position--
  while (position > 0 && tail[position - 1] !== 10 && tail[position - 1] !== 13) position--
  return position
}

/** Returns the kind of nearly all cells, if it is number or time. */
export function steadyKind(kinds: readonly number[]): number | undefined {
  const filledKinds = kinds.filter((kind) => kind !== EMPTY_CELL)
  return [NUMBER_CELL, TIME_CELL].find(
    (kind) => filledKinds.length > 2 && filledKinds.filter((one) => one === kind).length >= 0.9 * filledKinds.length,
  )
}

/** Returns the last lines as the footer, as an option requests. Takes no more than the lines after the header. */
export function lastLines(
  file: ReadableFile,
  sample: FileSample,
  requestedLines: number,
  rowsFrom: number,
): DetectedFooter {
  let { tail, tailFrom } = sample
  for (;;) {
    let position = tail.length
    let foundLines = 0
    while (foundLines < requestedLines && position > 0) {
      position = startOfLine(tail, position)
      foundLines++
    }
    const from = requestedLines === 0 ? file.size : Math.max(tailFrom + position, rowsFrom)
    if (position > 0 || tailFrom <= sample.from || from === file.size) return { from, lines: requestedLines, text: '' }
    tailFrom = Math.max(sample.from, file.size - tail.length * 8)
    tail = readAt(file, tailFrom, file.size - tailFrom)
  }
}

/** Returns the position after the first `lines` lines. */
export function skipLines(head: Uint8Array, lines: number): number {
  let position = 0
  for (let line = 0; line < lines; line++) {
    const lineEnd = afterLineEnd(head, position, head.length, true)
    if (lineEnd < 0) return head.length
    position = lineEnd
  }
  return position
}
