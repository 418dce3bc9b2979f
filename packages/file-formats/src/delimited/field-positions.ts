import type { DelimitedGrammar } from './dialect/dialect.ts'
import type { WasmScanner } from './wasm-scanner.ts'
import type { RecordReader } from './record-reader.ts'
import { HAS_BACKSLASH_ESCAPE, HAS_DOUBLED_QUOTES, IS_QUOTED, unescapeField } from './record-scanner.ts'

const QUOTE = 34
/** The flags of a field for the scanner, as in assembly/field-layout.ts. */
const WAS_QUOTED = 1
const HAS_DOUBLED_QUOTES_LEFT = 2
const IS_LITERAL = 4
/** The numbers of a field in `WasmScanner.fields`: start, end, flags, and one that is unused. */
const numbersPerField = 4

/**
 * Passes the field positions of the current record to the WebAssembly scanner. Overwrites fields that the scanner
 * cannot unescape by their unescaped values. If there are such fields, returns a copy of the original record, so that
 * the caller can restore it for messages. Otherwise returns undefined.
 */
export function passFieldPositions(wasm: WasmScanner, records: RecordReader): Buffer | undefined {
  const { fields, window, run } = wasm
  const { bytes, grammar, scanner } = records
  if (bytes.buffer !== window.buffer) throw new Error('The record does not lie in the memory of the scanner')
  const { starts, ends, fieldFlags, count } = scanner
  let originalRecord: Buffer | undefined
  for (let field = 0; field < count; field++) {
    const flags = fieldFlags[field]!
    const start = starts[field]!
    let end = ends[field]!
    let scannerFlags = flags & IS_QUOTED ? WAS_QUOTED : 0
    const isEscaped = (flags & (HAS_DOUBLED_QUOTES | HAS_BACKSLASH_ESCAPE)) !== 0
    const canScannerUnescape = grammar.quote === QUOTE && !(flags & HAS_BACKSLASH_ESCAPE)
    if (isEscaped && canScannerUnescape) scannerFlags |= HAS_DOUBLED_QUOTES_LEFT
    if (isEscaped && !canScannerUnescape) {
      originalRecord ??= Buffer.from(bytes.subarray(records.from, records.next))
      // Texts that mean null are compared with the field as it is written, so before it is unescaped.
      const isNull = run.isNullText(bytes.byteOffset + start, bytes.byteOffset + end) !== 0
      end = isNull ? start : start + unescapeField(bytes, start, end, flags, grammar, bytes.subarray(start))
      scannerFlags = isNull ? 0 : scannerFlags | IS_LITERAL
    }
    const fieldOffset = field * numbersPerField
    fields[fieldOffset] = bytes.byteOffset + start
    fields[fieldOffset + 1] = bytes.byteOffset + end
    fields[fieldOffset + 2] = scannerFlags
  }
  return originalRecord
}

/** True if the WebAssembly scanner can find the fields of records with this grammar without `RecordReader`. */
export function isScannableGrammar({ quote, escape, padded, comment, repeatedHeader }: DelimitedGrammar): boolean {
  return quote === QUOTE && escape < 0 && !padded && comment < 0 && !repeatedHeader
}
