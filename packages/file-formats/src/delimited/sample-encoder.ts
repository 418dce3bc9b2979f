import { configureScanner, typesFromOptions, setColumnType } from './column-state.ts'
import type { ColumnType } from './dialect/column-type.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import { passFieldPositions } from './field-positions.ts'
import { defaultDelimitedLimits } from './limits.ts'
import type { RecordReader } from './record-reader.ts'
import { ENCODE, VALUE_REJECTED, INFERRED_TYPE_TOO_NARROW, RECORD_PROCESSED, type WasmScanner } from './wasm-scanner.ts'

/**
 * The result of encoding one record: its encoded row, the index of the column that rejects its value, RAGGED for a
 * wrong number of fields, or TYPES_TOO_NARROW if the inferred types do not fit the record.
 */
export type EncodingResult = { tuple: Buffer } | { rejectingColumn: number } | 'RAGGED' | 'TYPES_TOO_NARROW'

/** Encodes records one by one as a load does. The records are in the scanner's window. */
export class SampleEncoder {
  readonly #wasm: WasmScanner

  constructor(wasm: WasmScanner, dialect: DelimitedDialect, types: readonly ColumnType[]) {
    this.#wasm = wasm
    configureScanner(wasm, dialect, defaultDelimitedLimits.chunkBytes)
    const declaredTypes = typesFromOptions(dialect)
    for (const [index, type] of types.entries())
      setColumnType(wasm, index, type, type, declaredTypes[index] === undefined)
  }

  /** Encodes the current record, which must be free of syntax errors. */
  encode(records: RecordReader): EncodingResult {
    const { run, bytes } = this.#wasm
    const original = passFieldPositions(this.#wasm, records)
    run.clearOutput()
    const outcome = run.processRecord(records.next - records.from, ENCODE)
    if (original) records.bytes.set(original, records.from)
    if (outcome === RECORD_PROCESSED) return { tuple: Buffer.from(bytes.subarray(run.OUT.value, run.outEnd.value)) }
    if (outcome === VALUE_REJECTED) return { rejectingColumn: run.unfitColumn.value }
    return outcome === INFERRED_TYPE_TOO_NARROW ? 'TYPES_TOO_NARROW' : 'RAGGED'
  }
}
