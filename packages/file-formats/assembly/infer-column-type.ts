import {
  AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP, AS_TIMESTAMPTZ,
  BOOLEAN, DATE, DECIMAL, DOUBLE, INTEGER, NUMBERS, TIMES, TIMESTAMP, TIMESTAMPTZ,
  typeAt, maxIntegerDigitsAt, maxScaleAt, allowedDateFormatsAt, integerDigitsAt, kindsAt, integerSizeAt, scaleAt, dateFormatsAt,
  stateOf,
} from './column-state'
import { FITS_BIGINT, EXCEEDS_BIGINT, MAX_PRECISION, FITS_INTEGER } from './read-number'

/** The maximum number of integer digits that a double represents exactly. */
export const DOUBLE_DIGITS: i32 = 15

/**
 * True if only TEXT can represent the observed values, whatever values follow: they are not all booleans, all numbers,
 * all dates and timestamps without a zone, or all timestamps with a zone, or no date format fits all of them.
 */
@inline export function needsText(state: usize): bool {
  const kinds = kindsAt(state)
  if ((kinds & ~BOOLEAN) == 0 || (kinds & ~NUMBERS) == 0) return false
  if ((kinds & ~(DATE | TIMESTAMP)) == 0 || (kinds & ~TIMESTAMPTZ) == 0) return dateFormatsAt(state) == 0
  return true
}

/**
 * Returns the code of the narrowest type for all observed values of a column. For a DECIMAL, the numbers of digits are
 * in the column's state.
 */
function narrowestType(state: usize): u8 {
  const kinds = kindsAt(state)
  const hasNoValues = kinds == 0
  if (hasNoValues || needsText(state)) return AS_TEXT
  // The values are now all booleans, all times or all numbers.
  const areBooleans = (kinds & BOOLEAN) != 0
  if (areBooleans) return AS_BOOLEAN
  const areTimes = (kinds & TIMES) != 0
  return areTimes ? narrowestTimeType(state, kinds) : narrowestNumberType(state, kinds)
}

/**
 * Returns the narrowest type for observed dates or timestamps. Returns TEXT while several date formats fit all of them:
 * 02/03 may be in February or March.
 */
function narrowestTimeType(state: usize, kinds: u8): u8 {
  const fittingFormats = popcnt<u32>(dateFormatsAt(state))
  if (fittingFormats > 1) return AS_TEXT
  if (kinds & TIMESTAMPTZ) return AS_TIMESTAMPTZ
  return kinds & TIMESTAMP ? AS_TIMESTAMP : AS_DATE
}

/**
 * Returns the narrowest type for observed numbers: an integer type, DECIMAL or DOUBLE. Returns TEXT if they have too
 * many digits for each of them. DOUBLE is never used for integers, because it could round them.
 */
function narrowestNumberType(state: usize, kinds: u8): u8 {
  const integerSize = integerSizeAt(state)
  const integerDigits = <i32>integerDigitsAt(state)
  const areIntegers = kinds == INTEGER
  if (areIntegers && integerSize != EXCEEDS_BIGINT) return integerTypeOfSize(integerSize)
  const hasDoubles = (kinds & DOUBLE) != 0
  const fitsDecimal = !hasDoubles && integerDigits + <i32>scaleAt(state) <= MAX_PRECISION
  if (fitsDecimal) return AS_DECIMAL
  const fitsDouble = !areIntegers && integerDigits <= DOUBLE_DIGITS
  return fitsDouble ? AS_DOUBLE : AS_TEXT
}

@inline function integerTypeOfSize(integerSize: u8): u8 {
  if (integerSize == FITS_BIGINT) return AS_BIGINT
  return integerSize == FITS_INTEGER ? AS_INTEGER : AS_SMALLINT
}

/** Returns the narrowest type for the observed values of a column. The host (the calling JavaScript) calls it. */
export function inferType(column: i32): i32 {
  return narrowestType(stateOf(column))
}

/**
 * True if the values observed in a column already need its whole inferred type, so that no narrower type can result any
 * more. Then its further values need not be observed.
 */
export function isTypeConfirmed(state: usize): bool {
  const inferredType = typeAt(state)
  const kinds = kindsAt(state)
  const hasNoValues = kinds == 0
  if (hasNoValues || narrowestType(state) != inferredType) return false
  switch (inferredType) {
    case AS_TEXT: {
      // Dates are a text only while several formats fit them. Numbers are a text because of their digits, for good.
      const areNumbers = (kinds & ~NUMBERS) == 0
      return needsText(state) || areNumbers
    }
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
