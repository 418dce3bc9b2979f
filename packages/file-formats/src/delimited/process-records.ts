import { isScannableGrammar, passFieldPositions } from './field-positions.ts'
import {
  ENCODE,
  VALUE_REJECTED,
  INFERRED_TYPE_TOO_NARROW,
  OBSERVE,
  OUTPUT_IS_FULL,
  RECORD_PROCESSED,
  type WasmScanner,
} from './wasm-scanner.ts'
import { rejectFaultyRecord, rejectUnfitValue } from './rejected-row.ts'
import type { RejectedRow } from '@sluice/row-stream'
import type { RowInput } from './open-delimited-rows.ts'

/**
 * The rows encoded since the last batch, and the rejected rows. The encoded rows are in the scanner's memory and valid
 * until the next batch.
 */
export interface TupleBatch {
  tuples: Buffer
  rejected: RejectedRow[]
}

/** Why a pass ended: at the end of the text, or at a record that does not fit the inferred types. */
export type PassEnding = 'END' | 'TYPES_TOO_NARROW'

/** A batch ends when it has this many rejected rows. */
const maxRejectedPerBatch = 256
/**
 * The scanner stops at a record this many bytes before the record limit. `RecordReader` then reads it, because only
 * `RecordReader` applies the limit exactly.
 */
const recordLimitMargin = 2

/**
 * One pass over the records. The WebAssembly scanner processes regular records, one window at a time. A record at which
 * it stops goes to `RecordReader`, which finds out what is wrong with it, or that it is valid.
 */
export class RecordPass {
  /** The number of encoded and rejected records. */
  rows = 0
  /** The number of rejected records among `rows`. */
  rejectedRows = 0
  /** The number of observed records that cannot be read, or that have a value which does not fit a given type. */
  faultyRows = 0
  readonly #wasm: WasmScanner
  readonly #rows: RowInput
  readonly #isScannableGrammar: boolean
  /** The names of the columns' types, for the reasons of rejected rows. */
  readonly #types: readonly string[]
  #rejected: RejectedRow[] = []

  constructor(wasm: WasmScanner, rows: RowInput, types: readonly string[] = []) {
    this.#wasm = wasm
    this.#rows = rows
    this.#types = types
    this.#isScannableGrammar = isScannableGrammar(rows.records.grammar)
    const { grammar, width, trailing } = rows.records
    wasm.run.setRecordShape(grammar.delimiter, width + trailing, trailing, rows.shape.recordBytes - recordLimitMargin)
  }

  /** Observes the values of records, at least of those that start before byte `untilBytes`. */
  observe(untilBytes: number): void {
    const { reader, records } = this.#rows
    for (;;) {
      this.#scan(OBSERVE)
      if (reader.position >= untilBytes || !records.advance()) return
      this.rows++
      if (records.fault === undefined) this.#processRecord(OBSERVE)
      else this.faultyRows++
    }
  }

  /**
   * Encodes records until the text ends or a record does not fit the inferred types. That record is only observed. If
   * this is not the last pass over a file (`isLast`), its last encoded rows may stay in the scanner's memory. They then
   * belong to the first batch of the next pass.
   */
  *encode(isLast: boolean): Generator<TupleBatch, PassEnding, void> {
    const { records, shape } = this.#rows
    const { run } = this.#wasm
    for (;;) {
      while (this.#scan(ENCODE) === OUTPUT_IS_FULL) yield this.#takeBatch()
      if (!records.advance()) break
      this.rows++
      if (records.fault === undefined) {
        if (!run.hasOutputSpace(records.next - records.from)) yield this.#takeBatch()
        if (!this.#processRecord(ENCODE)) return 'TYPES_TOO_NARROW'
      } else this.#rejected.push(rejectFaultyRecord(records, shape))
      if (this.#rejected.length >= maxRejectedPerBatch) yield this.#takeBatch()
    }
    if (isLast || this.#rejected.length > 0) yield this.#takeBatch()
    return 'END'
  }

  /** Returns the rows since the last batch, and starts a new batch. */
  #takeBatch(): TupleBatch {
    const { run, bytes } = this.#wasm
    const tuples = bytes.subarray(run.OUT.value, run.outEnd.value)
    const rejected = this.#rejected
    this.rejectedRows += rejected.length
    run.clearOutput()
    this.#rejected = []
    return { tuples, rejected }
  }

  /**
   * Lets the WebAssembly scanner observe or encode (`mode`) the text in the window that is known to be valid UTF-8.
   * Returns the reason why it stopped. Returns 0 if no such text exists, or if the scanner cannot read this grammar.
   */
  #scan(mode: number): number {
    const { records } = this.#rows
    const { run, window } = this.#wasm
    if (!this.#isScannableGrammar) return 0
    const end = records.validTextEnd()
    if (end <= records.next) return 0
    const stopReason = run.scan(window.byteOffset + records.next, window.byteOffset + end, mode)
    this.rows += run.rows.value
    records.skipTo(run.stoppedAt.value - window.byteOffset, run.lines.value)
    return stopReason
  }

  /**
   * Observes or encodes (`mode`) a record that `RecordReader` found to be valid. If a value does not fit its declared
   * type or the number of fields is wrong, rejects the record or counts it as faulty. Returns false if the record is
   * only observed because it does not fit the inferred types.
   */
  #processRecord(mode: number): boolean {
    const { records, shape } = this.#rows
    const { run } = this.#wasm
    const original = passFieldPositions(this.#wasm, records)
    const outcome = run.processRecord(records.next - records.from, mode)
    if (outcome === RECORD_PROCESSED) return true
    if (outcome === OUTPUT_IS_FULL) throw new Error('A record was scanned although the output is full')
    if (original) records.bytes.set(original, records.from)
    if (outcome === VALUE_REJECTED) {
      const column = run.unfitColumn.value
      if (mode === OBSERVE) this.faultyRows++
      else this.#rejected.push(rejectUnfitValue(records, shape, column, this.#types[column]!))
      return true
    }
    if (outcome === INFERRED_TYPE_TOO_NARROW) {
      passFieldPositions(this.#wasm, records)
      run.processRecord(records.next - records.from, OBSERVE)
      return false
    }
    records.fault = 'RAGGED'
    if (mode === OBSERVE) this.faultyRows++
    else this.#rejected.push(rejectFaultyRecord(records, shape))
    return true
  }
}
