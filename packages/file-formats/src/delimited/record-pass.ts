import { isPlain, passFieldPositions } from './field-positions.ts'
import { ENCODE, IS_REFUSED, IS_UNFIT, OBSERVE, OUT_IS_FULL, TAKEN, type WasmScanner } from './wasm-scanner.ts'
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
export type PassEnding = 'END' | 'NOT_AS_GUESSED'

const rejectedInBatch = 256
/** This many bytes below the record limit, `RecordReader` takes over, because only it applies the limit exactly. */
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
  readonly #plain: boolean
  /** The names of the columns' types, for the reasons of rejected rows. */
  readonly #types: readonly string[]
  #rejected: RejectedRow[] = []

  constructor(wasm: WasmScanner, rows: RowInput, types: readonly string[] = []) {
    this.#wasm = wasm
    this.#rows = rows
    this.#types = types
    this.#plain = isPlain(rows.records.grammar)
    const { grammar, width, trailing } = rows.records
    wasm.run.setShape(grammar.delimiter, width + trailing, trailing, rows.shape.recordBytes - recordLimitMargin)
  }

  /** Widens the column types by all records that start before byte `untilBytes`. */
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
   * Encodes records until the text ends or a record does not fit the inferred types. That record is only observed.
   * Unless this is the last pass, its last encoded rows may stay in the scanner's memory; they then belong to the first
   * batch of the next pass.
   */
  *encode(isLast: boolean): Generator<TupleBatch, PassEnding, void> {
    const { records, shape } = this.#rows
    const { run } = this.#wasm
    for (;;) {
      while (this.#scan(ENCODE) === OUT_IS_FULL) yield this.#batch()
      if (!records.advance()) break
      this.rows++
      if (records.fault === undefined) {
        if (!run.hasRoom(records.next - records.from)) yield this.#batch()
        if (this.#processRecord(ENCODE)) return 'NOT_AS_GUESSED'
      } else this.#rejected.push(rejectFaultyRecord(records, shape))
      if (this.#rejected.length >= rejectedInBatch) yield this.#batch()
    }
    if (isLast || this.#rejected.length > 0) yield this.#batch()
    return 'END'
  }

  #batch(): TupleBatch {
    const { run, bytes } = this.#wasm
    const tuples = bytes.subarray(run.OUT.value, run.outEnd.value)
    const rejected = this.#rejected
    this.rejectedRows += rejected.length
    run.emptyOut()
    this.#rejected = []
    return { tuples, rejected }
  }

  /** Lets the scanner process the text that is known to be valid UTF-8. Returns the reason why it stopped, or 0. */
  #scan(use: number): number {
    const { records } = this.#rows
    const { run, window } = this.#wasm
    if (!this.#plain) return 0
    const end = records.cleanEnd()
    if (end <= records.next) return 0
    const stopReason = run.scan(window.byteOffset + records.next, window.byteOffset + end, use)
    this.rows += run.rows.value
    records.passOver(run.stoppedAt.value - window.byteOffset, run.lines.value)
    return stopReason
  }

  /** Processes a record that `RecordReader` found to be valid. */
  #processRecord(use: number): PassEnding | undefined {
    const { records, shape } = this.#rows
    const { run } = this.#wasm
    const original = passFieldPositions(this.#wasm, records)
    const outcome = run.take(records.next - records.from, use)
    if (outcome === TAKEN) return undefined
    if (outcome === OUT_IS_FULL) throw new Error('A record came before there was room for it')
    if (original) records.bytes.set(original, records.from)
    if (outcome === IS_REFUSED) {
      const column = run.blamed.value
      if (use === OBSERVE) this.faultyRows++
      if (use === ENCODE) this.#rejected.push(rejectUnfitValue(records, shape, column, this.#types[column]!))
      return undefined
    }
    if (outcome === IS_UNFIT) {
      passFieldPositions(this.#wasm, records)
      run.take(records.next - records.from, OBSERVE)
      return 'NOT_AS_GUESSED'
    }
    records.fault = 'RAGGED'
    if (use === OBSERVE) this.faultyRows++
    else this.#rejected.push(rejectFaultyRecord(records, shape))
    return undefined
  }
}
