import type { Dialect } from './dialect/dialect.ts'
import { placeFields } from './field-places.ts'
import { defaultLimits } from './limits.ts'
import { IS_REFUSED, type Machine, OBSERVE } from './machine.ts'
import type { Records } from './records.ts'
import { tellDialect } from './told.ts'

/** Holds records against the types that were given, with the code that a load has for it. The records lie in the machine's window. */
export class GivenTypes {
  readonly #machine: Machine

  constructor(machine: Machine, dialect: Dialect) {
    this.#machine = machine
    tellDialect(machine, dialect, defaultLimits.chunkBytes)
  }

  /** The column whose given type refuses the record at hand, which is without a fault; undefined where none does. */
  refuses(records: Records): number | undefined {
    const { run } = this.#machine
    const original = placeFields(this.#machine, records)
    const outcome = run.take(records.next - records.from, OBSERVE)
    if (original) records.bytes.set(original, records.from)
    return outcome === IS_REFUSED ? run.blamed.value : undefined
  }
}
