import { configureScanner, givenTypes, setColumn } from './column-state.ts'
import type { ColumnType } from './dialect/column-type.ts'
import type { DelimitedDialect } from './dialect/dialect.ts'
import { passFieldPositions } from './field-positions.ts'
import { defaultDelimitedLimits } from './limits.ts'
import type { RecordReader } from './record-reader.ts'
import { ENCODE, IS_REFUSED, IS_UNFIT, TAKEN, type WasmScanner } from './wasm-scanner.ts'

/**
 * The result for one record: its encoded row, the column that rejects its value, RAGGED for a wrong number of fields,
 * or UNFIT if wider types are needed.
 */
export type SampledRecord = { tuple: Buffer } | { refusedBy: number } | 'RAGGED' | 'UNFIT'

/** Encodes records one by one as a load does. The records are in the scanner's window. */
export class SampleEncoder {
  readonly #wasm: WasmScanner

  constructor(wasm: WasmScanner, dialect: DelimitedDialect, types: readonly ColumnType[]) {
    this.#wasm = wasm
    configureScanner(wasm, dialect, defaultDelimitedLimits.chunkBytes)
    const declaredTypes = givenTypes(dialect)
    for (const [index, type] of types.entries()) setColumn(wasm, index, type, type, declaredTypes[index] === undefined)
  }

  /** Encodes the current record, which must be free of syntax errors. */
  encode(records: RecordReader): SampledRecord {
    const { run, bytes } = this.#wasm
    const original = passFieldPositions(this.#wasm, records)
    run.emptyOut()
    const outcome = run.take(records.next - records.from, ENCODE)
    if (original) records.bytes.set(original, records.from)
    if (outcome === TAKEN) return { tuple: Buffer.from(bytes.subarray(run.OUT.value, run.outEnd.value)) }
    if (outcome === IS_REFUSED) return { refusedBy: run.blamed.value }
    return outcome === IS_UNFIT ? 'UNFIT' : 'RAGGED'
  }
}
