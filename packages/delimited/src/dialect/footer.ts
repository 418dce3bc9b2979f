import type { Grammar } from '../grammar.ts'
import { afterLineEnd, countLineEnds, QUOTED, RECORD, RecordScanner } from '../record-scanner.ts'
import { cellKind, EMPTY, NUMBER, TIME } from './cell-kind.ts'
import type { FileSample } from './sample.ts'

/** Lines at the end that are no rows. */
export interface DetectedFooter {
  /** Position in the file where they begin; its size where there are none. */
  from: number
  lines: number
  text: string
  /** A last row that may be a total, though it is none of the footer. */
  doubt?: string
}

/** What footers are looked for by. */
export interface FooterShape {
  /** Fields of a row as it stands in the file, empty ones behind the last column included. */
  fields: number
  /** Position in the file behind the header: nothing above it is a footer. */
  rowsFrom: number
  /** The first column's kind in nearly all rows, where it is a number or a time. */
  firstKind: number | undefined
  /** Whether empty lines stand between rows too, so that one sets nothing off. */
  hasGaps: boolean
}

const mostLines = 30
const shownText = 200

const notes =
  /^\W*(source|sources|note|notes|quelle|quellen|hinweis|anmerkung|fuente|fuentes|nota|notas|remarque|remarques|generated|exported|created|printed|end of|\(c\)|©)\b/i
const bullets = /^\s*["']?\s*([*†‡#]|\(\d+\)|\d+\)|\[\d+\]|--)/
const totals =
  /^\W*(grand total|sub-?total|total|totals|totale|totaux|sum|summe|gesamt|insgesamt|suma|somme|всего|итого)\b/iu

interface FooterLine {
  from: number
  text: string
  fields: string[]
  kinds: number[]
}

/**
 * Lines behind the last row that are clearly none: notes of one cell, and totals, set off from the rows by an empty line or telling
 * by how they begin. One line that could be a row, a piece of one or a quoted line of one, and nothing is cut off: then what does not fit is rejected.
 */
export function findFooter(sample: FileSample, size: number, grammar: Grammar, shape: FooterShape): DetectedFooter {
  const none = { from: size, lines: 0, text: '' }
  if (shape.fields < 2) return none
  const lines: FooterLine[] = []
  let end = sample.tail.length
  let setOff = false
  let clear = false
  while (end > 0 && lines.length < mostLines) {
    const from = startOfLine(sample.tail, end)
    if (sample.tailFrom + from < shape.rowsFrom) break
    const line = readLine(sample.tail, from, end, grammar)
    if (!line) return none
    const filled = line.kinds.filter((kind) => kind !== EMPTY).length
    if (filled > 0 && isRow(line, filled, shape)) {
      clear = true
      const isLast = lines.every(({ kinds }) => kinds.every((kind) => kind === EMPTY))
      if (isLast && totals.test(line.fields.find((field) => field !== '')!))
        return { ...none, doubt: shortened(line.text) }
      break
    }
    lines.unshift(line)
    setOff = filled === 0 && !shape.hasGaps
    end = from
  }
  const told = lines.filter(({ kinds }) => kinds.some((kind) => kind !== EMPTY))
  if (!clear || told.length === 0 || !(setOff || told.every(isMeaningful))) return none
  // A total like one that stands among the rows is a subtotal like it: they all go or none does.
  const rows = Buffer.from(sample.tail.subarray(0, told[0]!.from))
  const subtotal = told.find(({ fields, text }) => {
    const cell = firstCell(text, grammar)
    return totals.test(fields[0]!) && ['\n', '\r'].some((lineEnd) => rows.includes(lineEnd + cell))
  })
  if (subtotal) return { ...none, doubt: shortened(subtotal.text) }
  const from = sample.tailFrom + told[0]!.from
  const count = countLineEnds(sample.tail, told[0]!.from, sample.tail.length)
  const open = !/[\r\n]$/.test(String.fromCharCode(sample.tail.at(-1)!)) ? 1 : 0
  const text = told.map((line) => line.text).join(' / ')
  return { from, lines: count + open, text: shortened(text) }
}

/** With the delimiter behind it, as it is written. */
const firstCell = (text: string, { delimiter }: Grammar) =>
  text.slice(0, text.indexOf(String.fromCharCode(delimiter)) + 1)

const shortened = (text: string) => (text.length > shownText ? `${text.slice(0, shownText)}…` : text)

const isMeaningful = ({ fields }: FooterLine) => {
  const first = fields.find((field) => field !== '')!
  return notes.test(first) || bullets.test(first) || totals.test(first)
}

/** A full row, unless it is a total or a padded note; or too much for a note. */
function isRow(line: FooterLine, filled: number, { fields, firstKind }: FooterShape): boolean {
  const first = line.fields.find((field) => field !== '')!
  if (line.kinds.length === fields) {
    const breaksFirst = firstKind !== undefined && line.kinds[0] !== firstKind && line.kinds[0] !== EMPTY
    if (totals.test(first)) return !(breaksFirst || filled < fields)
    return !(filled === 1 && fields > 2 && line.kinds[0] !== EMPTY && isMeaningful(line))
  }
  return filled > 1 && !totals.test(first) && !notes.test(first)
}

/** A line as a record of its own; undefined where its quoting is not complete in itself, for then it may be part of a longer record. */
function readLine(tail: Uint8Array, from: number, end: number, grammar: Grammar): FooterLine | undefined {
  let textEnd = end
  while (textEnd > from && (tail[textEnd - 1] === 10 || tail[textEnd - 1] === 13)) textEnd--
  const text = Buffer.from(tail.subarray(from, textEnd)).toString()
  if (textEnd === from) return { from, text, fields: [''], kinds: [EMPTY] }
  const scanner = new RecordScanner(grammar)
  if (scanner.scan(tail, from, textEnd, true) !== RECORD) return undefined
  const { starts, ends, marks } = scanner
  const count = Math.min(scanner.count, starts.length)
  const indexes = Array.from({ length: count }, (_, index) => index)
  const isStray = (i: number) => (marks[i]! & QUOTED) === 0 && tail.subarray(starts[i], ends[i]).includes(grammar.quote)
  if (grammar.quote >= 0 && indexes.some(isStray)) return undefined
  return {
    from,
    text,
    fields: indexes.map((i) => Buffer.from(tail.subarray(starts[i], ends[i])).toString().trim()),
    kinds: indexes.map((i) => cellKind(tail, starts[i]!, ends[i]!, (marks[i]! & QUOTED) !== 0)),
  }
}

/** Where the line begins whose line end stands right before `end`. */
function startOfLine(tail: Uint8Array, end: number): number {
  let at = end
  if (tail[at - 1] === 10) at--
  if (at > 0 && tail[at - 1] === 13) at--
  while (at > 0 && tail[at - 1] !== 10 && tail[at - 1] !== 13) at--
  return at
}

/** The kind that nearly all cells have, where that is one that text cannot be mistaken for. */
export function steadyKind(kinds: readonly number[]): number | undefined {
  const filled = kinds.filter((kind) => kind !== EMPTY)
  return [NUMBER, TIME].find(
    (kind) => filled.length > 2 && filled.filter((one) => one === kind).length >= 0.9 * filled.length,
  )
}

/** The last lines as a footer because somebody says so; never more than there are below the header. */
export function lastLines(
  { tail, tailFrom }: FileSample,
  size: number,
  lines: number,
  rowsFrom: number,
): DetectedFooter {
  let at = tail.length
  for (let line = 0; line < lines && at > 0; line++) at = startOfLine(tail, at)
  return { from: lines === 0 ? size : Math.max(tailFrom + at, rowsFrom), lines, text: '' }
}

/** The position behind the first lines. */
export function skipLines(head: Uint8Array, lines: number): number {
  let at = 0
  for (let line = 0; line < lines; line++) {
    const after = afterLineEnd(head, at, head.length, true)
    if (after < 0) return head.length
    at = after
  }
  return at
}
