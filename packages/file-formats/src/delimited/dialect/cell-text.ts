import type { Grammar } from '../grammar.ts'
import { BACKSLASHED, DOUBLED, unescape } from '../record-scanner.ts'
import type { SampleRecord } from './parse-sample.ts'

/** Returns the value of a field as text. */
export function valueText(bytes: Uint8Array, from: number, to: number, mark: number, grammar: Grammar): string {
  if ((mark & (DOUBLED | BACKSLASHED)) === 0)
    return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString()
  const plain = Buffer.allocUnsafe(to - from)
  return plain.toString('utf8', 0, unescape(bytes, from, to, mark, grammar, plain))
}

export function cellText(
  sample: Uint8Array,
  { starts, ends, marks }: SampleRecord,
  index: number,
  grammar: Grammar,
): string {
  return valueText(sample, starts[index]!, ends[index]!, marks[index]!, grammar)
}

export function cellTexts(sample: Uint8Array, record: SampleRecord, grammar: Grammar): string[] {
  return Array.from(record.kinds, (_, index) => cellText(sample, record, index, grammar))
}
