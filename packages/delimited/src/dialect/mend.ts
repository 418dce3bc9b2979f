import type { Grammar } from '../grammar.ts'
import { afterLineEnd } from '../scan.ts'
import { EMPTY } from './cells.ts'
import { isText } from './header.ts'
import { parseSample, type SampleRecord } from './parse.ts'

/**
 * A header whose quoting is broken, read as if quotes meant nothing, where that makes a label of text for each column. Otherwise
 * the record as it was. Values are never mended like this: a label can be checked by looking at it, a million rows cannot.
 */
export function mendedHeader(record: SampleRecord, sample: Uint8Array, grammar: Grammar, wide: number): SampleRecord {
  const after = afterLineEnd(sample, record.from, sample.length, true)
  const line = sample.subarray(0, after < 0 ? sample.length : after)
  const [mended] = parseSample(
    line,
    record.from,
    true,
    { ...grammar, quote: -1, escape: -1 },
    { records: 1, cells: 0 },
  ).records
  if (!mended || mended.count !== wide || !mended.kinds.every((kind) => kind === EMPTY || isText(kind))) return record
  const { starts, ends } = mended
  for (let index = 0; index < mended.count; index++) {
    while (starts[index]! < ends[index]! && sample[starts[index]!] === grammar.quote) starts[index]!++
    while (starts[index]! < ends[index]! && sample[ends[index]! - 1] === grammar.quote) ends[index]!--
  }
  return { ...mended, line: record.line, mended: true }
}
