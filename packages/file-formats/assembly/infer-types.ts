import {
  BOOLEAN, checkAt, narrowSpellings, INFERRED, stateOf, TEXT, widen, widenDigits, widenIntegerSize,
} from './column-state'
import { endOf, fieldOf, LITERAL, marksOf, startOf } from './fields'
import { isNull } from './null-spellings'
import { integerDigits, numberKind, integerSize, scale } from './parse-number'
import { ALL_SPELLINGS, looksTimed, spelled, timeKind } from './times'
import { isText } from './column-type'

/** Widens the types of all columns by the current record. Nulls, quoted or not, do not affect types. */
export function observeRecord(width: i32): void {
  for (let column = 0; column < width; column++) observe(column)
}

@inline export function observe(column: i32): void {
  const state = stateOf(column)
  if (isText(state) || (checkAt(state) & INFERRED) == 0) return
  const field = fieldOf(column)
  const from = startOf(field)
  const to = endOf(field)
  if (!isNull(from, to) || (from != to && (marksOf(field) & LITERAL) != 0)) observeValue(state, from, to)
}

function observeValue(state: usize, from: usize, to: usize): void {
  // In ASCII, digits, minus and point come before the letters.
  if (load<u8>(from) >= 58) return widen(state, isBoolean(from, to) ? BOOLEAN : TEXT)
  if (looksTimed(from, to)) {
    const kind = timeKind(from, to, ALL_SPELLINGS)
    if (kind != TEXT) narrowSpellings(state, spelled)
    return widen(state, kind)
  }
  const kind = numberKind(from, to)
  widen(state, kind)
  if (kind == TEXT) return
  widenIntegerSize(state, integerSize)
  widenDigits(state, <i32>integerDigits, <i32>scale)
}

/** True for `true` or `false`, in any case. */
@inline function isBoolean(from: usize, to: usize): bool {
  const length = to - from
  if (length == 4) return (load<u32>(from) | 0x20202020) == 0x65757274
  return length == 5 && (load<u32>(from) | 0x20202020) == 0x736c6166 && (load<u8>(from, 4) | 32) == 101
}
