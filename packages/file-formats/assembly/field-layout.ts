import { FIELD_BYTES, FIELDS } from './memory-layout'

/*
 * A field in memory: start i32 @0, end i32 @4, flags i32 @8. Start and end are addresses; for a quoted field, they are
 * inside the quotes. The host (the calling JavaScript) writes fields too.
 */

/** The field was quoted: if it is empty, it is an empty text instead of null. */
export const QUOTED: i32 = 1
/** The field may contain doubled quotes, which must be replaced by single ones. */
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

@inline export function flagsOf(field: usize): i32 {
  return load<i32>(field, 8)
}

@inline function setField(column: i32, start: usize, end: usize, flags: i32): void {
  const field = fieldOf(column)
  store<i32>(field, <i32>start)
  store<i32>(field, <i32>end, 4)
  store<i32>(field, flags, 8)
}

/** Stores a quoted field. Its flag DOUBLED only says that it may contain doubled quotes. */
@inline export function setQuoted(column: i32, start: usize, end: usize): void {
  setField(column, start, end, QUOTED | DOUBLED)
}

/** Stores a field without quotes. */
@inline export function setPlain(column: i32, start: usize, end: usize): void {
  setField(column, start, end, 0)
}
