import { COMPLETE_RECORD, RecordScanner, withoutLineEnd } from '../record-scanner.ts'
import { readStrayQuotes } from '../stray-quotes.ts'
import { EMPTY_CELL } from './cell-kind.ts'
import type { DelimitedGrammar } from './dialect.ts'
import { isTextKind } from './header.ts'
import { describeRecord, parseSample, type SampleRecord } from './file-sample.ts'

/**
 * Reads a header with broken quotes as `columnCount` labels that contain quotes. Returns undefined unless the options
 * request this and exactly one such reading exists.
 */
export function readHeaderWithStrayQuotes(
  header: SampleRecord,
  sample: Uint8Array,
  grammar: DelimitedGrammar,
  columnCount: number,
): SampleRecord | undefined {
  const { from, next } = header
  const scanner = new RecordScanner(grammar)
  const end = withoutLineEnd(sample, from, next)
  if (!grammar.readsStrayQuotes) return undefined
  const isRead = readStrayQuotes(scanner, sample, from, end, grammar, columnCount)
  return isRead ? describeRecord(scanner, header, COMPLETE_RECORD, sample) : undefined
}

/**
 * Reads a header with broken quotes as if quotes had no meaning, and removes the quotes around its labels. Returns
 * undefined unless this gives `columnCount` labels, or at most `maxUnnamedColumns` fewer, that are texts or empty.
 * Values are never repaired in this way: users can check labels, but not a million rows.
 */
export function readHeaderWithoutQuotes(
  header: SampleRecord,
  sample: Uint8Array,
  grammar: DelimitedGrammar,
  columnCount: number,
  maxUnnamedColumns: number,
): SampleRecord | undefined {
  const headerBytes = sample.subarray(0, header.next)
  const grammarWithoutQuotes = { ...grammar, quote: -1, escape: -1 }
  const budget = { records: 1, cells: 0 }
  const [headerRecord] = parseSample(headerBytes, header.from, true, grammarWithoutQuotes, budget).records
  if (!headerRecord || headerRecord.count > columnCount || headerRecord.count < columnCount - maxUnnamedColumns)
    return undefined
  if (!headerRecord.kinds.every((kind) => kind === EMPTY_CELL || isTextKind(kind))) return undefined
  const { starts, ends } = headerRecord
  for (let index = 0; index < headerRecord.count; index++) {
    while (starts[index]! < ends[index]! && sample[starts[index]!] === grammar.quote) starts[index]!++
    while (starts[index]! < ends[index]! && sample[ends[index]! - 1] === grammar.quote) ends[index]!--
  }
  return { ...headerRecord, line: header.line, mended: true }
}
