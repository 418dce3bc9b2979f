import { LOWER_E } from './ascii'
import {
  BOOLEAN, checkAt, narrowDateFormats, INFERRED, stateOf, TEXT, addKind, widenDigits, widenIntegerSize,
} from './column-state'
import { endOf, fieldOf, LITERAL, flagsOf, startOf } from './field-layout'
import { isNull } from './null-texts'
import { integerDigits, readNumber, integerSize, scale } from './read-number'
import { INFERABLE_DATE_FORMATS, looksLikeDate, foundDateFormats, readTime } from './read-time'
import { needsText } from './infer-column-type'

/**
 * Observes the values of the current record in all columns, so that their types can be inferred. Nulls do not count.
 */
export function observeRecord(width: i32): void {
  for (let column = 0; column < width; column++) observe(column)
}

/**
 * Observes the value of the current record in one column, unless its type is declared or no longer affected by values.
 */
@inline export function observe(column: i32): void {
  const state = stateOf(column)
  const isDeclared = (checkAt(state) & INFERRED) == 0
  if (needsText(state) || isDeclared) return
  const field = fieldOf(column)
  const from = startOf(field)
  const to = endOf(field)
  const isLiteral = from != to && (flagsOf(field) & LITERAL) != 0
  if (isLiteral || !isNull(from, to)) observeValue(state, from, to)
}

/** The last digit in ASCII. Minus, plus and point come before it, all letters after it. */
const LAST_DIGIT: u8 = 57

/** Adds the kind of a value, and its digits or date formats, to the observations in a column's state. */
function observeValue(state: usize, from: usize, to: usize): void {
  const startsWithLetter = load<u8>(from) > LAST_DIGIT
  if (startsWithLetter) addKind(state, isBoolean(from, to) ? BOOLEAN : TEXT)
  else if (looksLikeDate(from, to)) observeDateOrTime(state, from, to)
  else observeNumber(state, from, to)
}

@inline function observeDateOrTime(state: usize, from: usize, to: usize): void {
  const kind = readTime(from, to, INFERABLE_DATE_FORMATS)
  addKind(state, kind)
  // `readTime` has set `foundDateFormats`.
  if (kind != TEXT) narrowDateFormats(state, foundDateFormats)
}

@inline function observeNumber(state: usize, from: usize, to: usize): void {
  const kind = readNumber(from, to)
  addKind(state, kind)
  if (kind == TEXT) return
  // `readNumber` has set `integerSize`, `integerDigits` and `scale`.
  widenIntegerSize(state, integerSize)
  widenDigits(state, <i32>integerDigits, <i32>scale)
}

// `true` and `fals` as integers: the first character is the lowest byte.
const TRUE: u32 = 0x65757274
const FALS: u32 = 0x736c6166

/** True for `true` or `false`, in uppercase or lowercase letters. */
@inline function isBoolean(from: usize, to: usize): bool {
  const length = to - from
  const first4Lowercase = load<u32>(from) | 0x20202020
  if (length == 4) return first4Lowercase == TRUE
  return length == 5 && first4Lowercase == FALS && (load<u8>(from, 4) | 0x20) == LOWER_E
}
