import {
  AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP, AS_TIMESTAMPTZ,
  BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, NUMBERS, TIMES, TIMESTAMP, TIMESTAMPTZ,
  typeAt, digitsLimitAt, scaleLimitAt, spellingsTakenAt, integerDigitsAt, kindsAt, integerSizeAt, scaleAt, spellingsAt,
  stateOf,
} from './column-state'
import { BIG, HUGE, MAX_PRECISION, MIDDLE } from './parse-number'

/** The maximum number of integer digits that a double represents exactly. */
export const DOUBLE_DIGITS: i32 = 15

/** True if a column with these kinds of values is TEXT, whatever values follow. */
@inline export function isText(state: usize): bool {
  const kinds = kindsAt(state)
  if ((kinds & ~BOOLEAN) == 0 || (kinds & ~NUMBERS) == 0) return false
  if ((kinds & ~(DATE | TIMESTAMP)) == 0 || (kinds & ~TIMESTAMPTZ) == 0) return spellingsAt(state) == 0
  return true
}

/**
 * Returns the narrowest type for all observed values, one of AS_…. For a DECIMAL, the state contains the numbers of
 * digits.
 */
export function typeOf(state: usize): u8 {
  const kinds = kindsAt(state)
  if (kinds == 0 || isText(state)) return AS_TEXT
  if (kinds & BOOLEAN) return AS_BOOLEAN
  if (kinds & TIMES) {
    // The order of day and month is still undecided: 02/03 may be in February or March.
    if (popcnt<u32>(spellingsAt(state)) != 1) return AS_TEXT
    return kinds & TIMESTAMPTZ ? AS_TIMESTAMPTZ : kinds & TIMESTAMP ? AS_TIMESTAMP : AS_DATE
  }
  return numberType(state, kinds)
}

/**
 * Returns the narrowest number type for the observed numbers. TEXT if some of them need a double and others have more
 * digits than a double represents exactly.
 */
function numberType(state: usize, kinds: u8): u8 {
  const integerSize = integerSizeAt(state)
  const digits = <i32>integerDigitsAt(state)
  if (kinds == INTEGER && integerSize < HUGE) {
    if (integerSize == BIG) return AS_BIGINT
    return integerSize == MIDDLE ? AS_INTEGER : AS_SMALLINT
  }
  if ((kinds & DOUBLE) == 0 && digits + <i32>scaleAt(state) <= MAX_PRECISION) return AS_DECIMAL
  return digits <= DOUBLE_DIGITS && kinds != INTEGER ? AS_DOUBLE : AS_TEXT
}

/** Exports `typeOf` to the host (the JavaScript that runs this WebAssembly module). */
export function columnType(column: i32): i32 {
  return typeOf(stateOf(column))
}

/**
 * True once a value has needed the inferred type fully, so that further fitting values cannot make the type narrower.
 */
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
