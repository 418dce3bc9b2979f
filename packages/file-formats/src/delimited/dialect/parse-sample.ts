import type { Grammar } from '../grammar.ts'
import {
  afterLineEnd,
  COMMENT,
  countLineEnds,
  MORE,
  QUOTED,
  RECORD,
  RecordScanner,
  TEXT_AFTER_QUOTE,
} from '../record-scanner.ts'
import { cellKind } from './cell-kind.ts'

/** One record of a sample, read with a grammar. */
export interface SampleRecord {
  /** The position in the sample, and the position after the line end. */
  from: number
  next: number
  /** Physical line, from 1. */
  line: number
  /** The number of fields; 0 if a quote is broken. */
  count: number
  /** Whether broken quotes were ignored. */
  mended?: boolean
  fault?: 'UNCLOSED_QUOTE' | 'TEXT_AFTER_QUOTE'
  /** For each cell: its kind (cell-kind.ts), start, end and marks. */
  kinds: Uint8Array
  starts: Int32Array
  ends: Int32Array
  marks: Uint8Array
}

export interface ParsedSample {
  grammar: Grammar
  records: SampleRecord[]
  blankLines: number[]
  /** Whether the last record reaches the end of the sample. */
  exhausted: boolean
}

/** A quote that stays open for this many bytes counts as stray. */
const longQuote = 32 * 1024
const strayQuotes = 3

/** The most records and cells to parse. The first 20 records are always parsed. */
export interface SampleBudget {
  records: number
  cells: number
}

const fewRecords = 20

/** Parses the first records of a sample, up to those that begin before `until`. */
export function parseSample(
  bytes: Uint8Array,
  from: number,
  complete: boolean,
  grammar: Grammar,
  most: SampleBudget,
  until = bytes.length,
): ParsedSample {
  const scanner = new RecordScanner(grammar)
  const end = bytes.length
  const records: SampleRecord[] = []
  const blankLines: number[] = []
  let line = 1
  let at = from
  let strays = 0
  let cells = 0
  while (at < end && at < until && records.length < most.records) {
    if (cells > most.cells && records.length >= fewRecords) break
    let outcome = scanner.scan(bytes, at, end, complete)
    if (outcome === MORE && scanner.openQuote >= 0 && end - scanner.openQuote > longQuote) {
      if (++strays > strayQuotes) break
      outcome = -1
    } else if (outcome === MORE && records.length === 0) outcome = scanner.scan(bytes, at, end, true)
    if (outcome === MORE) break
    const whole = outcome === RECORD
    const after = whole || outcome === COMMENT ? scanner.next : afterLineEnd(bytes, scanner.openQuote, end, true)
    const next = after < 0 ? end : after
    const isBlank = whole && scanner.count === 1 && scanner.starts[0] === scanner.ends[0] && scanner.marks[0]! < QUOTED
    if (isBlank) blankLines.push(line)
    else if (outcome !== COMMENT) records.push(describeRecord(scanner, { from: at, next, line }, outcome, bytes))
    cells += scanner.count
    line += whole ? scanner.lines : countLineEnds(bytes, at, next)
    at = next
  }
  return { grammar, records, blankLines, exhausted: at >= end }
}

function describeRecord(
  { starts, ends, marks, count }: RecordScanner,
  place: Pick<SampleRecord, 'from' | 'next' | 'line'>,
  outcome: number,
  bytes: Uint8Array,
): SampleRecord {
  if (outcome !== RECORD) {
    const fault = outcome === TEXT_AFTER_QUOTE ? 'TEXT_AFTER_QUOTE' : 'UNCLOSED_QUOTE'
    return { ...place, count: 0, fault, kinds: nothing, starts: noPlaces, ends: noPlaces, marks: nothing }
  }
  const seen = Math.min(count, starts.length)
  const kinds = new Uint8Array(seen)
  for (let i = 0; i < seen; i++) kinds[i] = cellKind(bytes, starts[i]!, ends[i]!, (marks[i]! & QUOTED) !== 0)
  return {
    ...place,
    count,
    kinds,
    starts: starts.slice(0, seen),
    ends: ends.slice(0, seen),
    marks: marks.slice(0, seen),
  }
}

const nothing = new Uint8Array(0)
const noPlaces = new Int32Array(0)
