import { seenType } from './column-state.ts'
import type { ColumnType } from './column-type.ts'
import type { Dialect } from './dialect/dialect.ts'
import { placeFields } from './field-places.ts'
import { defaultLimits } from './limits.ts'
import { IS_REFUSED, type Machine, OBSERVE, startMachine } from './machine.ts'
import type { Records } from './records.ts'
import { givenTypes, tellDialect } from './told.ts'

let shared: Machine | undefined

/** Infers types record by record, for a look at a few of them. One at a time: all share one machine. */
export class TypeInference {
  /** Where the records have to lie: for `rowsOf`. */
  readonly memory: Buffer
  readonly #machine: Machine
  readonly #given: readonly (ColumnType | undefined)[]

  constructor(dialect: Dialect) {
    shared ??= startMachine()
    this.#machine = shared
    this.memory = shared.window
    this.#given = givenTypes(dialect)
    tellDialect(shared, dialect, defaultLimits.chunkBytes)
  }

  /** Takes in a record without a fault. The column whose given type it does not fit, if there is one: then it says nothing about types. */
  observe(records: Records): number | undefined {
    const original = placeFields(this.#machine, records)
    const { run } = this.#machine
    const outcome = run.take(records.next - records.from, OBSERVE)
    if (original) records.bytes.set(original, records.from)
    return outcome === IS_REFUSED ? run.blamed.value : undefined
  }

  type(column: number): ColumnType {
    return this.#given[column] ?? seenType(this.#machine, column)
  }
}
