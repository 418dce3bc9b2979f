import { checkAt, INFERRED, stateOf } from './column-state'
import { observe } from './observe-column-values'
import { UNCONFIRMED } from './memory-layout'
import { isTypeConfirmed } from './infer-column-type'

/**
 * The number of unconfirmed columns: those with an inferred type for which the values of the current pass alone may
 * still need only a narrower type. UNCONFIRMED contains their indexes as i32.
 */
export let unconfirmedCount: i32 = 0

/** Makes all columns with an inferred type unconfirmed. */
export function resetUnconfirmedColumns(width: i32): void {
  unconfirmedCount = 0
  for (let column = 0; column < width; column++) {
    if ((checkAt(stateOf(column)) & INFERRED) == 0) continue
    store<i32>(UNCONFIRMED + <usize>unconfirmedCount * 4, column)
    unconfirmedCount++
  }
}

/**
 * Observes the current record in the unconfirmed columns. Removes a column from the list once its type is confirmed;
 * the last column of the list takes its place.
 */
export function observeUnconfirmed(): void {
  for (let index = unconfirmedCount - 1; index >= 0; index--) {
    const entry = UNCONFIRMED + <usize>index * 4
    const column = load<i32>(entry)
    observe(column)
    if (!isTypeConfirmed(stateOf(column))) continue
    unconfirmedCount--
    store<i32>(entry, load<i32>(UNCONFIRMED + <usize>unconfirmedCount * 4))
  }
}
