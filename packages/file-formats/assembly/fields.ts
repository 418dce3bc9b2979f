import { FIELD_BYTES, FIELDS } from './memory-layout'

/*
 * A field in memory, which the host writes too: start i32 @0, end i32 @4, marks i32 @8. Start and end are addresses; for a
 * quoted field, they are inside the quotes.
 */

/** The field was quoted: if it is empty, it is an empty text instead of null. */
export const QUOTED: i32 = 1
/** The field still contains doubled quotes. */
export const DOUBLED: i32 = 2
/** The field was written with escapes, so its value never means null. */
export const LITERAL: i32 = 4

@inline export function fieldOf(column: i32): usize {
  return FIELDS + <usize>column * FIELD_BYTES
}

@inline export function startOf(field: usize): usize {
  return <usize>load<i32>(field)
}

@inline export function endOf(field: usize): usize {
  return <usize>load<i32>(field, 4)
}

@inline export function marksOf(field: usize): i32 {
  return load<i32>(field, 8)
}

@inline function put(column: i32, start: usize, end: usize, marks: i32): void {
  const field = fieldOf(column)
  store<i32>(field, <i32>start)
  store<i32>(field, <i32>end, 4)
  store<i32>(field, marks, 8)
}

/** Records a quoted field. Always marks it as DOUBLED; copying the field then finds any doubled quotes. */
@inline export function setQuoted(column: i32, start: usize, end: usize): void {
  put(column, start, end, QUOTED | DOUBLED)
}

@inline export function setPlain(column: i32, start: usize, end: usize): void {
  put(column, start, end, 0)
}
