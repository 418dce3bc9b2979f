import { checkAt, PROVEN, stateOf } from './columns'
import { observe } from './infer'
import { OPEN } from './layout'
import { isSettled } from './type-of'

/** How many columns wait for a value that needs their guessed type. They lie in OPEN as i32. */
export let openCount: i32 = 0

/** Opens every column whose type is a guess. */
export function openColumns(width: i32): void {
  openCount = 0
  for (let column = 0; column < width; column++) {
    if ((checkAt(stateOf(column)) & PROVEN) == 0) continue
    store<i32>(OPEN + <usize>openCount * 4, column)
    openCount++
  }
}

/** Takes in the record at hand, which fits its guessed types, until every column has needed its own. */
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
