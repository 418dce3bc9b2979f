import { HAS_BACKSLASH_ESCAPE, HAS_DOUBLED_QUOTES, unescapeField } from '../record-scanner.ts'
import { cellKind } from './cell-kind.ts'
import type { DelimitedGrammar } from './dialect.ts'
import {
  afterLineEnd,
  COMMENT_LINE,
  countLineEnds,
  NEEDS_MORE,
  IS_QUOTED,
  COMPLETE_RECORD,
  RecordScanner,
  TEXT_AFTER_QUOTE,
} from '../record-scanner.ts'

/** A file for detection and preview. It reads bytes at any position, like `readSync`, and has a name for messages. */
export interface ReadableFile {
  readonly name: string
  readonly size: number
  read(target: Uint8Array, filePosition: number, length: number, position: number): number
}

/** The first bytes of a file after its byte order mark and, for a larger file, also the last bytes. */
export interface FileSample {
  head: Uint8Array
  /** The position of `head` in the file. */
  from: number
  /** True if `head` is the whole file. */
  complete: boolean
  tail: Uint8Array
  /** The position of `tail` in the file. `tail` starts after a line end, unless it is the whole file. */
  tailFrom: number
}

export const sampleBytes = 256 * 1024
const tailBytes = 64 * 1024

/** Reads the first `headBytes` bytes, including the byte order mark, and the last bytes. */
export function readSample(file: ReadableFile, headBytes = sampleBytes): FileSample {
  const start = readAt(file, 0, headBytes)
  const from = start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf ? 3 : 0
  const head = start.subarray(from)
  if (start.length >= file.size) return { head, from, complete: true, tail: head, tailFrom: from }
  const end = readAt(file, Math.max(from, file.size - tailBytes), tailBytes)
  const line = end.findIndex((byte) => byte === 10 || byte === 13) + 1
  return { head, from, complete: false, tail: end.subarray(line), tailFrom: file.size - end.length + line }
}

export function readAt(file: ReadableFile, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let filledBytes = 0
  while (filledBytes < length) {
    const bytesRead = file.read(bytes, filledBytes, length - filledBytes, position + filledBytes)
    if (bytesRead === 0) break
    filledBytes += bytesRead
  }
  return bytes.subarray(0, filledBytes)
}

/** One record of a sample, parsed with a grammar. */
export interface SampleRecord {
  /** The record's position in the sample, and the position after its line end. */
  from: number
  next: number
  /** The physical line number, from 1. */
  line: number
  /** The number of fields, or 0 if a quote is broken. */
  count: number
  /** True if broken quotes were ignored. */
  mended?: boolean
  fault?: 'UNCLOSED_QUOTE' | 'TEXT_AFTER_QUOTE'
  /** For each cell: its kind (see cell-kind.ts), start, end and marks. */
  kinds: Uint8Array
  starts: Int32Array
  ends: Int32Array
  marks: Uint8Array
}

export interface ParsedSample {
  grammar: DelimitedGrammar
  records: SampleRecord[]
  blankLines: number[]
  /** True if the last record reaches the end of the sample, so it may be incomplete. */
  exhausted: boolean
}

/** A quote that stays open for this many bytes counts as a stray quote. */
const longQuote = 32 * 1024
const strayQuotes = 3

/** The maximum records and cells to parse. The first 20 records are always parsed. */
interface SampleBudget {
  records: number
  cells: number
}

const fewRecords = 20

/**
 * Parses the records of a sample that start before `startLimit`. Stops earlier if the budget is used up, if the last
 * record is incomplete, or if more than three quotes stay open. A line with an unclosed quote becomes a record without
 * fields. Blank lines and comments are no records.
 */
export function parseSample(
  bytes: Uint8Array,
  from: number,
  isComplete: boolean,
  grammar: DelimitedGrammar,
  budget: SampleBudget,
  startLimit = bytes.length,
): ParsedSample {
  const scanner = new RecordScanner(grammar)
  const end = bytes.length
  const records: SampleRecord[] = []
  const blankLines: number[] = []
  let line = 1
  let position = from
  let unclosedQuotes = 0
  let cells = 0
  while (position < end && position < startLimit && records.length < budget.records) {
    if (cells > budget.cells && records.length >= fewRecords) break
    let outcome = scanner.scan(bytes, position, end, isComplete)
    if (outcome === NEEDS_MORE && scanner.openQuote >= 0 && end - scanner.openQuote > longQuote) {
      if (++unclosedQuotes > strayQuotes) break
      outcome = -1
    } else if (outcome === NEEDS_MORE && records.length === 0) outcome = scanner.scan(bytes, position, end, true)
    if (outcome === NEEDS_MORE) break
    const isRecordComplete = outcome === COMPLETE_RECORD
    const endOfRecord =
      isRecordComplete || outcome === COMMENT_LINE ? scanner.next : afterLineEnd(bytes, scanner.openQuote, end, true)
    const next = endOfRecord < 0 ? end : endOfRecord
    const isBlank =
      isRecordComplete && scanner.count === 1 && scanner.starts[0] === scanner.ends[0] && scanner.marks[0]! < IS_QUOTED
    if (isBlank) blankLines.push(line)
    else if (outcome !== COMMENT_LINE)
      records.push(describeRecord(scanner, { from: position, next, line }, outcome, bytes))
    cells += scanner.count
    line += isRecordComplete ? scanner.lines : countLineEnds(bytes, position, next)
    position = next
  }
  return { grammar, records, blankLines, exhausted: position >= end }
}

/** Returns a scanned record with the kinds and positions of its fields, or without fields if its quotes are broken. */
export function describeRecord(
  { starts, ends, marks, count }: RecordScanner,
  { from, next, line }: Pick<SampleRecord, 'from' | 'next' | 'line'>,
  outcome: number,
  bytes: Uint8Array,
): SampleRecord {
  const location = { from, next, line }
  if (outcome !== COMPLETE_RECORD) {
    const quoteFault = outcome === TEXT_AFTER_QUOTE ? 'TEXT_AFTER_QUOTE' : 'UNCLOSED_QUOTE'
    return {
      ...location,
      count: 0,
      fault: quoteFault,
      kinds: noBytes,
      starts: noPlaces,
      ends: noPlaces,
      marks: noBytes,
    }
  }
  const fieldCount = Math.min(count, starts.length)
  const kinds = new Uint8Array(fieldCount)
  for (let i = 0; i < fieldCount; i++) kinds[i] = cellKind(bytes, starts[i]!, ends[i]!, (marks[i]! & IS_QUOTED) !== 0)
  return {
    ...location,
    count,
    kinds,
    starts: starts.slice(0, fieldCount),
    ends: ends.slice(0, fieldCount),
    marks: marks.slice(0, fieldCount),
  }
}

const noBytes = new Uint8Array(0)
const noPlaces = new Int32Array(0)

/** Returns the value of a field as text. */
export function valueText(
  bytes: Uint8Array,
  from: number,
  to: number,
  mark: number,
  grammar: DelimitedGrammar,
): string {
  if ((mark & (HAS_DOUBLED_QUOTES | HAS_BACKSLASH_ESCAPE)) === 0)
    return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString()
  const unescapedBytes = Buffer.allocUnsafe(to - from)
  return unescapedBytes.toString('utf8', 0, unescapeField(bytes, from, to, mark, grammar, unescapedBytes))
}

function cellText(
  sample: Uint8Array,
  { starts, ends, marks }: SampleRecord,
  index: number,
  grammar: DelimitedGrammar,
): string {
  return valueText(sample, starts[index]!, ends[index]!, marks[index]!, grammar)
}

export function cellTexts(sample: Uint8Array, record: SampleRecord, grammar: DelimitedGrammar): string[] {
  return Array.from(record.kinds, (_, index) => cellText(sample, record, index, grammar))
}
