import type { DelimitedGrammar } from './dialect/dialect.ts'
import type { WasmScanner } from './wasm-scanner.ts'
import type { RecordReader } from './record-reader.ts'
import { HAS_BACKSLASH_ESCAPE, HAS_DOUBLED_QUOTES, IS_QUOTED, unescapeField } from './record-scanner.ts'

const QUOTE = 34
const wasQuoted = 1
const stillDoubled = 2
const isLiteral = 4
const numbersOfField = 4

/**
 * Passes the field positions of the current record to the WebAssembly scanner. Unescapes fields that the scanner cannot
 * unescape, in the window itself. In that case returns a copy of the original record, so that it can be restored for
 * messages.
 */
export function passFieldPositions(wasm: WasmScanner, records: RecordReader): Buffer | undefined {
  const { fields, window, run } = wasm
  const { bytes, grammar, scanner } = records
  if (bytes.buffer !== window.buffer) throw new Error('The record does not lie in the memory of the scanner')
  const { starts, ends, marks, count } = scanner
  let originalRecord: Buffer | undefined
  for (let field = 0; field < count; field++) {
    const mark = marks[field]!
    const start = starts[field]!
    let end = ends[field]!
    let fieldMarks = mark & IS_QUOTED ? wasQuoted : 0
    if (mark & (HAS_DOUBLED_QUOTES | HAS_BACKSLASH_ESCAPE)) {
      if (grammar.quote === QUOTE && !(mark & HAS_BACKSLASH_ESCAPE)) fieldMarks |= stillDoubled
      else {
        originalRecord ??= Buffer.from(bytes.subarray(records.from, records.next))
        if (run.spellsNull(bytes.byteOffset + start, bytes.byteOffset + end)) {
          end = start
          fieldMarks = 0
        } else {
          fieldMarks |= isLiteral
          end = start + unescapeField(bytes, start, end, mark, grammar, bytes.subarray(start))
        }
      }
    }
    const fieldOffset = field * numbersOfField
    fields[fieldOffset] = bytes.byteOffset + start
    fields[fieldOffset + 1] = bytes.byteOffset + end
    fields[fieldOffset + 2] = fieldMarks
  }
  return originalRecord
}

/** True if the scanner can read records of this grammar without help. */
export function isPlain({ quote, escape, padded, comment, repeatedHeader }: DelimitedGrammar): boolean {
  return quote === QUOTE && escape < 0 && !padded && comment < 0 && !repeatedHeader
}
