import { checkAt, INFERRED, stateOf } from './column-state'
import { observe } from './infer-types'
import { OPEN } from './memory-layout'
import { isSettled } from './column-type'

/**
 * The number of columns with an inferred type that no value has needed fully yet. OPEN contains their indexes as i32.
 */
export let openCount: i32 = 0

/** Lists all columns with an inferred type as unconfirmed. */
export function openColumns(width: i32): void {
  openCount = 0
  for (let column = 0; column < width; column++) {
    if ((checkAt(stateOf(column)) & INFERRED) == 0) continue
    store<i32>(OPEN + <usize>openCount * 4, column)
    openCount++
  }
}

/**
 * Observes the current record, which fits the inferred types, in the unconfirmed columns. Removes a column once a value
 * needs its type fully.
 */
export function observeOpen(): void {
  for (let place = openCount - 1; place >= 0; place--) {
    const entry = OPEN + <usize>place * 4
    const column = load<i32>(entry)
    observe(column)
    if (!isSettled(stateOf(column))) continue
    openCount--
    store<i32>(entry, load<i32>(OPEN + <usize>openCount * 4))
  }
}
