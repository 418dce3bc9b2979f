import { setColumn } from './column-state.ts'
import type { ColumnType } from './column-type.ts'
import type { Dialect } from './dialect/dialect.ts'
import { placeFields } from './field-places.ts'
import { defaultLimits } from './limits.ts'
import { ENCODE, IS_REFUSED, IS_UNFIT, type Machine, TAKEN } from './machine.ts'
import type { Records } from './records.ts'
import { givenTypes, tellDialect } from './told.ts'

/** What became of a record: its tuple, the column that refuses it, or that it has another number of fields or needs other types. */
export type Sampled = { tuple: Buffer } | { refusedBy: number } | 'RAGGED' | 'UNFIT'

/** Encodes records one by one, with the code that a load has for it. The records lie in the machine's window. */
export class SampleEncoder {
  readonly #machine: Machine

  constructor(machine: Machine, dialect: Dialect, types: readonly ColumnType[]) {
    this.#machine = machine
    tellDialect(machine, dialect, defaultLimits.chunkBytes)
    const given = givenTypes(dialect)
    for (const [index, type] of types.entries()) setColumn(machine, index, type, type, given[index] === undefined)
  }

  /** Encodes the record at hand, which is without a fault. */
  encode(records: Records): Sampled {
    const { run, bytes } = this.#machine
    const original = placeFields(this.#machine, records)
    run.emptyOut()
    const outcome = run.take(records.next - records.from, ENCODE)
    if (original) records.bytes.set(original, records.from)
    if (outcome === TAKEN) return { tuple: Buffer.from(bytes.subarray(run.OUT.value, run.outEnd.value)) }
    if (outcome === IS_REFUSED) return { refusedBy: run.blamed.value }
    return outcome === IS_UNFIT ? 'UNFIT' : 'RAGGED'
  }
}
