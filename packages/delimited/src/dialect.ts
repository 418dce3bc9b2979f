import type { Limits } from './limits.ts'
import { afterLineEnd, MORE, RECORD, RecordScanner } from './scan.ts'
import type { TextFile } from './text-file.ts'
import { utf8Reader } from './utf8-reader.ts'

export const delimiters = { COMMA: ',', SEMI_COLON: ';', TAB: '\t', PIPE: '|' } as const
export type Delimiter = keyof typeof delimiters

const sampleBytes = 256 * 1024
const sampleRecords = 1000
/** Share of the records from which a delimiter counts as consistent; a few ragged rows must not decide. */
const consistent = 0.9

interface Candidate {
  delimiter: Delimiter
  /** Fields of the first record. */
  fields: number
  /** Share of the records that have as many fields as the first one. */
  share: number
}

/**
 * The delimiter under which the first records have as many fields as the first of them. Counting characters is not enough: in
 * `a;b` over `1,5;2,5` there are more commas than semicolons. Among consistent ones the one with most fields wins.
 * A file in which none makes two fields of the first record has one column, and then the delimiter is one that breaks the fewest values.
 */
export function detectDelimiter(file: TextFile, limits: Pick<Limits, 'readBytes'>): Delimiter {
  const { sample, complete } = readSample(file, Math.max(sampleBytes, limits.readBytes))
  const candidates = Object.keys(delimiters).map((name) => measure(name as Delimiter, sample, complete))
  return candidates.reduce((best, next) => (isBetter(next, best) ? next : best)).delimiter
}

function isBetter(one: Candidate, other: Candidate): boolean {
  const difference = tier(one) - tier(other)
  if (difference !== 0) return difference > 0
  return tier(one) === 3 && one.fields !== other.fields ? one.fields > other.fields : one.share > other.share
}

/** A first record of several fields counts even when no other record agrees: rejecting those is better than loading one column of everything. */
function tier({ fields, share }: Candidate): number {
  if (fields === 1) return 0
  if (share >= consistent) return 3
  return share > 0.5 ? 2 : 1
}

function readSample(file: TextFile, bytes: number): { sample: Uint8Array; complete: boolean } {
  const reader = utf8Reader(file)
  const sample = Buffer.allocUnsafeSlow(bytes)
  let length = 0
  while (bytes - length >= 8) {
    const read = reader.read(sample, length, bytes - length)
    if (read === 0) return { sample: sample.subarray(0, length), complete: true }
    length += read
  }
  return { sample: sample.subarray(0, length), complete: false }
}

function measure(delimiter: Delimiter, sample: Uint8Array, complete: boolean): Candidate {
  const scanner = new RecordScanner(delimiters[delimiter].charCodeAt(0))
  const end = sample.length
  let fields = 0
  let records = 0
  let alike = 0
  for (let from = 0; from >= 0 && from < end && records < sampleRecords; ) {
    let outcome = scanner.scan(sample, from, end, complete)
    // A first record longer than the sample is judged by what is there of it.
    if (outcome === MORE && records === 0) outcome = scanner.scan(sample, from, end, true)
    if (outcome === MORE) break
    const whole = outcome === RECORD
    const blank = whole && scanner.count === 1 && scanner.ends[0] === from && scanner.marks[0] === 0
    from = whole ? scanner.next : afterLineEnd(sample, scanner.openQuote, end, complete)
    if (blank) continue
    records++
    // Broken quoting is no record under this delimiter.
    if (records === 1) fields = whole ? scanner.count : 1
    if (whole && scanner.count === fields) alike++
  }
  return { delimiter, fields, share: records === 0 ? 0 : alike / records }
}
