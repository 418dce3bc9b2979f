import {
  AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP, AS_TIMESTAMPTZ,
  BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, NUMBERS, TIMES, TIMESTAMP, TIMESTAMPTZ,
  typeAt, maxIntegerDigitsAt, maxScaleAt, allowedDateFormatsAt, integerDigitsAt, kindsAt, integerSizeAt, scaleAt, dateFormatsAt,
  stateOf,
} from './column-state'
import { FITS_BIGINT, EXCEEDS_BIGINT, MAX_PRECISION, FITS_INTEGER } from './read-number'

/** The maximum number of integer digits that a double represents exactly. */
export const DOUBLE_DIGITS: i32 = 15

/** True if the observed values fit no type but TEXT, whatever values follow. */
@inline export function isText(state: usize): bool {
  const kinds = kindsAt(state)
  if ((kinds & ~BOOLEAN) == 0 || (kinds & ~NUMBERS) == 0) return false
  if ((kinds & ~(DATE | TIMESTAMP)) == 0 || (kinds & ~TIMESTAMPTZ) == 0) return dateFormatsAt(state) == 0
  return true
}

/** Returns the code of the narrowest type for all observed values. The digits of a DECIMAL are in the state. */
function narrowestType(state: usize): u8 {
  const kinds = kindsAt(state)
  if (kinds == 0 || isText(state)) return AS_TEXT
  if (kinds & BOOLEAN) return AS_BOOLEAN
  if (kinds & TIMES) {
    // The order of day and month is still undecided: 02/03 may be in February or March.
    if (popcnt<u32>(dateFormatsAt(state)) != 1) return AS_TEXT
    if (kinds & TIMESTAMPTZ) return AS_TIMESTAMPTZ
    return kinds & TIMESTAMP ? AS_TIMESTAMP : AS_DATE
  }
  return narrowestNumberType(state, kinds)
}

/**
 * Returns the narrowest type for observed numbers. Returns TEXT if some of them need a double and others have more
 * digits than a double represents exactly.
 */
function narrowestNumberType(state: usize, kinds: u8): u8 {
  const integerSize = integerSizeAt(state)
  const digits = <i32>integerDigitsAt(state)
  if (kinds == INTEGER && integerSize < EXCEEDS_BIGINT) {
    if (integerSize == FITS_BIGINT) return AS_BIGINT
    return integerSize == FITS_INTEGER ? AS_INTEGER : AS_SMALLINT
  }
  if ((kinds & DOUBLE) == 0 && digits + <i32>scaleAt(state) <= MAX_PRECISION) return AS_DECIMAL
  return digits <= DOUBLE_DIGITS && kinds != INTEGER ? AS_DOUBLE : AS_TEXT
}

/** Returns the narrowest type for the observed values of a column. The host (the calling JavaScript) calls it. */
export function inferType(column: i32): i32 {
  return narrowestType(stateOf(column))
}

/** True if the observed values alone need the whole inferred type, so that no narrower type can result any more. */
export function isTypeConfirmed(state: usize): bool {
  const inferredType = typeAt(state)
  const kinds = kindsAt(state)
  if (kinds == 0 || narrowestType(state) != inferredType) return false
  switch (inferredType) {
    case AS_TEXT:
      return isText(state) || (kinds & ~NUMBERS) == 0
    case AS_DECIMAL: {
      const integerDigits = max<i32>(<i32>integerDigitsAt(state), 1)
      return integerDigits >= <i32>maxIntegerDigitsAt(state) && scaleAt(state) == maxScaleAt(state)
    }
    case AS_DATE:
    case AS_TIMESTAMP:
    case AS_TIMESTAMPTZ:
      return dateFormatsAt(state) == allowedDateFormatsAt(state)
    default:
      return true
  }
}
