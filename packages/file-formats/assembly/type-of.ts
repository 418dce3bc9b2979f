import {
  AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP, AS_TIMESTAMPTZ,
  BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, NUMBERS, TIMES, TIMESTAMP, TIMESTAMPTZ,
  typeAt, digitsLimitAt, scaleLimitAt, spellingsTakenAt, integerDigitsAt, kindsAt, roomAt, scaleAt, spellingsAt, stateOf,
} from './columns'
import { BIG, HUGE, MAX_PRECISION, MIDDLE } from './numbers'

/** Digits before the point that a double always keeps. */
export const DOUBLE_DIGITS: i32 = 15

/** Has a column of these kinds no type but text, whatever comes? */
@inline export function isText(state: usize): bool {
  const kinds = kindsAt(state)
  if ((kinds & ~BOOLEAN) == 0 || (kinds & ~NUMBERS) == 0) return false
  if ((kinds & ~(DATE | TIMESTAMP)) == 0 || (kinds & ~TIMESTAMPTZ) == 0) return spellingsAt(state) == 0
  return true
}

/** The narrowest type that holds all that was seen, as one of AS_…; a DECIMAL's digits are in the state. */
export function typeOf(state: usize): u8 {
  const kinds = kindsAt(state)
  if (kinds == 0 || isText(state)) return AS_TEXT
  if (kinds & BOOLEAN) return AS_BOOLEAN
  if (kinds & TIMES) {
    // Whether 02/03 is in February or in March nobody can tell yet.
    if (popcnt<u32>(spellingsAt(state)) != 1) return AS_TEXT
    return kinds & TIMESTAMPTZ ? AS_TIMESTAMPTZ : kinds & TIMESTAMP ? AS_TIMESTAMP : AS_DATE
  }
  return numberType(state, kinds)
}

/** A double must not touch an integer part that it cannot hold: such a mixture stays text. */
function numberType(state: usize, kinds: u8): u8 {
  const room = roomAt(state)
  const digits = <i32>integerDigitsAt(state)
  if (kinds == INTEGER && room < HUGE) return room == BIG ? AS_BIGINT : room == MIDDLE ? AS_INTEGER : AS_SMALLINT
  if ((kinds & DOUBLE) == 0 && digits + <i32>scaleAt(state) <= MAX_PRECISION) return AS_DECIMAL
  return digits <= DOUBLE_DIGITS && kinds != INTEGER ? AS_DOUBLE : AS_TEXT
}

/** What typeOf says of a column, for the host. */
export function columnType(column: i32): i32 {
  return typeOf(stateOf(column))
}

/** Has the column held a value that needs all of its guessed type, so that values that fit cannot change it any more? */
export function isSettled(state: usize): bool {
  const guess = typeAt(state)
  const kinds = kindsAt(state)
  if (kinds == 0 || typeOf(state) != guess) return false
  switch (guess) {
    case AS_TEXT:
      return isText(state) || (kinds & ~NUMBERS) == 0
    case AS_DECIMAL: {
      const seen = <i32>integerDigitsAt(state)
      return (seen > 1 ? seen : 1) >= <i32>digitsLimitAt(state) && scaleAt(state) == scaleLimitAt(state)
    }
    case AS_DATE:
    case AS_TIMESTAMP:
    case AS_TIMESTAMPTZ:
      return spellingsAt(state) == spellingsTakenAt(state)
    default:
      return true
  }
}
