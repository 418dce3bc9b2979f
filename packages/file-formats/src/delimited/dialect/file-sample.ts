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
  UNCLOSED_QUOTE,
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

const LF = 10
const CR = 13

/** Reads the first `headBytes` bytes of a file, including its byte order mark, and its last bytes. */
export function readSample(file: ReadableFile, headBytes = sampleBytes): FileSample {
  const start = readAt(file, 0, headBytes)
  const hasByteOrderMark = start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf
  const from = hasByteOrderMark ? 3 : 0
  const head = start.subarray(from)
  if (start.length >= file.size) return { head, from, complete: true, tail: head, tailFrom: from }
  const end = readAt(file, Math.max(from, file.size - tailBytes), tailBytes)
  const afterFirstLineEnd = end.findIndex((byte) => byte === LF || byte === CR) + 1
  return {
    head,
    from,
    complete: false,
    tail: end.subarray(afterFirstLineEnd),
    tailFrom: file.size - end.length + afterFirstLineEnd,
  }
}

/** Reads at most `maxBytes` bytes from a position of a file. The memory is not larger than what the file has, because many files are small. */
export function readAt(file: ReadableFile, position: number, maxBytes: number): Uint8Array {
  const bytes = new Uint8Array(Math.max(0, Math.min(maxBytes, file.size - position)))
  let filledBytes = 0
  while (filledBytes < bytes.length) {
    const bytesRead = file.read(bytes, filledBytes, bytes.length - filledBytes, position + filledBytes)
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
  /** For each field: its kind (see cell-kind.ts), start, end and flags (see `RecordScanner.fieldFlags`). */
  kinds: Uint8Array
  starts: Int32Array
  ends: Int32Array
  fieldFlags: Uint8Array
}

export interface ParsedSample {
  grammar: DelimitedGrammar
  records: SampleRecord[]
  blankLines: number[]
  /** True if the last record reaches the end of the sample, so it may be incomplete. */
  exhausted: boolean
}

/** A quote that stays open for this many bytes counts as unclosed. */
const maxOpenQuoteBytes = 32 * 1024
/** Parsing stops at the next unclosed quote after this many. */
const maxUnclosedQuotes = 3

/** The maximum number of records and cells to parse. The first `minRecords` records are parsed even with more cells. */
interface SampleBudget {
  records: number
  cells: number
}

const minRecords = 20

/**
 * Parses the records of a sample that start at or after `from` and before `startLimit`. Stops earlier if the budget is
 * used up, if the last record is incomplete, or at the fourth unclosed quote. A line with a broken quote becomes a
 * record without fields. Blank lines and comments are not records.
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
    if (cells > budget.cells && records.length >= minRecords) break
    let outcome = scanner.scan(bytes, position, end, isComplete)
    const isQuoteOpenTooLong = scanner.openQuote >= 0 && end - scanner.openQuote > maxOpenQuoteBytes
    if (outcome === NEEDS_MORE && isQuoteOpenTooLong) {
      unclosedQuotes++
      if (unclosedQuotes > maxUnclosedQuotes) break
      outcome = UNCLOSED_QUOTE
    } else if (outcome === NEEDS_MORE && records.length === 0) {
      // The first record is longer than the sample, so it is cut at the end of the sample.
      outcome = scanner.scan(bytes, position, end, true)
    }
    if (outcome === NEEDS_MORE) break
    const next = positionAfterRecord(scanner, outcome, bytes)
    if (outcome === COMPLETE_RECORD && isBlankLine(scanner)) blankLines.push(line)
    else if (outcome !== COMMENT_LINE)
      records.push(describeRecord(scanner, { from: position, next, line }, outcome, bytes))
    cells += scanner.count
    line += outcome === COMPLETE_RECORD ? scanner.lines : countLineEnds(bytes, position, next)
    position = next
  }
  return { grammar, records, blankLines, exhausted: position >= end }
}

/** Returns the position after a scanned record. A broken quote ends its record after the line in which it opens. */
function positionAfterRecord(scanner: RecordScanner, outcome: number, bytes: Uint8Array): number {
  if (outcome === COMPLETE_RECORD || outcome === COMMENT_LINE) return scanner.next < 0 ? bytes.length : scanner.next
  const lineEnd = afterLineEnd(bytes, scanner.openQuote, bytes.length, true)
  return lineEnd < 0 ? bytes.length : lineEnd
}

/** True if the scanned record is a single empty field without quotes. */
function isBlankLine({ count, starts, ends, fieldFlags }: RecordScanner): boolean {
  const isQuoted = (fieldFlags[0]! & IS_QUOTED) !== 0
  return count === 1 && starts[0] === ends[0] && !isQuoted
}

/** Returns a scanned record with the kinds and positions of its fields, or without fields if its quotes are broken. */
export function describeRecord(
  { starts, ends, fieldFlags, count }: RecordScanner,
  { from, next, line }: Pick<SampleRecord, 'from' | 'next' | 'line'>,
  outcome: number,
  bytes: Uint8Array,
): SampleRecord {
  const location = { from, next, line }
  if (outcome !== COMPLETE_RECORD) {
    const fault = outcome === TEXT_AFTER_QUOTE ? 'TEXT_AFTER_QUOTE' : 'UNCLOSED_QUOTE'
    return { ...location, count: 0, fault, kinds: noBytes, starts: noPositions, ends: noPositions, fieldFlags: noBytes }
  }
  const fieldCount = Math.min(count, starts.length)
  const kinds = new Uint8Array(fieldCount)
  for (let i = 0; i < fieldCount; i++)
    kinds[i] = cellKind(bytes, starts[i]!, ends[i]!, (fieldFlags[i]! & IS_QUOTED) !== 0)
  return {
    ...location,
    count,
    kinds,
    starts: starts.slice(0, fieldCount),
    ends: ends.slice(0, fieldCount),
    fieldFlags: fieldFlags.slice(0, fieldCount),
  }
}

const noBytes = new Uint8Array(0)
const noPositions = new Int32Array(0)

/** Returns the value of the field at `from` to `to` as text, without escapes and doubled quotes. */
export function valueText(
  bytes: Uint8Array,
  from: number,
  to: number,
  flags: number,
  grammar: DelimitedGrammar,
): string {
  if ((flags & (HAS_DOUBLED_QUOTES | HAS_BACKSLASH_ESCAPE)) === 0)
    return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString()
  const unescapedBytes = Buffer.allocUnsafe(to - from)
  return unescapedBytes.toString('utf8', 0, unescapeField(bytes, from, to, flags, grammar, unescapedBytes))
}

function cellText(
  sample: Uint8Array,
  { starts, ends, fieldFlags }: SampleRecord,
  index: number,
  grammar: DelimitedGrammar,
): string {
  return valueText(sample, starts[index]!, ends[index]!, fieldFlags[index]!, grammar)
}

/** Returns the values of a record's cells as texts. */
export function readCellTexts(sample: Uint8Array, record: SampleRecord, grammar: DelimitedGrammar): string[] {
  return Array.from(record.kinds, (_, index) => cellText(sample, record, index, grammar))
}
