import {
  STORED_WIDER, AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_JSON, AS_NOTHING, AS_REAL, AS_SMALLINT, AS_TEXT,
  AS_TIMESTAMP, AS_VARCHAR, DATE, INFERRED, TEXT, TIMESTAMPTZ,
  checkAt, typeAt, digitsLimitAt, scaleLimitAt, spellingsTakenAt, maxCharactersAt, storedAt, storedDigitsAt, storedScaleAt,
} from './column-state'
import { writeBoolean } from './booleans'
import { DOUBLED, endOf, LITERAL, marksOf, startOf } from './fields'
import { writeDouble, writeReal } from './write-float'
import { writeInteger } from './integers'
import { asJson } from './write-jsonb'
import { isSpelledNull } from './null-spellings'
import { writeNumeric } from './write-numeric'
import { NULL_LENGTH, REFUSED, UNFIT } from './value-result-codes'
import { copyDoubled, copyPlain, withinCharacters } from './texts'
import { days, recordTimeForm, timeKind, timestamp } from './times'

/**
 * Writes a field's value in its column's stored type. Returns its length, NULL_LENGTH, UNFIT if the value needs a wider
 * inferred type, or REFUSED if it rejects the row. A quoted empty field is an empty text in a text column and null in
 * other columns.
 */
@inline export function writeField(out: usize, field: usize, state: usize): i32 {
  const from = startOf(field)
  const to = endOf(field)
  const stored = storedAt(state)
  if (from == to) {
    if (marksOf(field) == 0 || (stored != AS_TEXT && stored != AS_VARCHAR)) return NULL_LENGTH
  } else if (isSpelledNull(from, to) && (marksOf(field) & LITERAL) == 0) return NULL_LENGTH
  if (stored == AS_TEXT && (checkAt(state) & STORED_WIDER) == 0) return writeText(out, field, from, to)
  return writeTyped(out, field, state)
}

@inline function writeText(out: usize, field: usize, from: usize, to: usize): i32 {
  return marksOf(field) & DOUBLED ? copyDoubled(out, from, to) : copyPlain(out, from, to)
}

function writeTyped(out: usize, field: usize, state: usize): i32 {
  const stored = storedAt(state)
  const check = checkAt(state)
  const from = startOf(field)
  const to = endOf(field)
  if (check & STORED_WIDER) {
    const isInferred = (check & INFERRED) != 0
    const length = isInferred
      ? writeGuessed(out, from, to, typeAt(state), state)
      : typeAt(state) == AS_JSON
        ? asJson(out, writeText(out + 1, field, from, to), state)
        : writeGiven(out, from, to, typeAt(state), <i32>digitsLimitAt(state), <i32>scaleLimitAt(state), state)
    if (length < 0 && from != to) return isInferred ? UNFIT : REFUSED
  }
  switch (stored) {
    case AS_TEXT:
      return writeText(out, field, from, to)
    case AS_VARCHAR:
      return withinCharacters(out, writeText(out, field, from, to), <i32>maxCharactersAt(state))
    case AS_JSON:
      return asJson(out, writeText(out + 1, field, from, to), state)
    case AS_REAL: {
      const length = writeReal(out, from, to)
      return length == UNFIT ? REFUSED : length
    }
    default: {
      if (check == INFERRED) return writeGuessed(out, from, to, stored, state)
      const length = writeGiven(out, from, to, stored, <i32>storedDigitsAt(state), <i32>storedScaleAt(state), state)
      return length == UNFIT ? REFUSED : length
    }
  }
}

/** Writes a value to a column with an inferred type. Returns UNFIT if the value needs a wider type. */
function writeGuessed(out: usize, from: usize, to: usize, type: u8, state: usize): i32 {
  switch (type) {
    case AS_SMALLINT:
    case AS_INTEGER:
    case AS_BIGINT:
      return writeInteger(out, from, to, type, true, state)
    case AS_DECIMAL:
      return writeNumeric(out, from, to, <i32>digitsLimitAt(state), <i32>scaleLimitAt(state), true, false, state)
    case AS_DOUBLE:
      return writeDouble(out, from, to, true)
    case AS_BOOLEAN:
      return writeBoolean(out, from, to, true, state)
    case AS_TEXT:
      return 0
    case AS_NOTHING:
      return UNFIT
    default:
      return writeTime(out, from, to, type, true, state)
  }
}

/** Writes a value to a column with a given type. Returns UNFIT if the type would change the value. */
function writeGiven(out: usize, from: usize, to: usize, type: u8, digits: i32, scale: i32, state: usize): i32 {
  switch (type) {
    case AS_SMALLINT:
    case AS_INTEGER:
    case AS_BIGINT:
      return writeInteger(out, from, to, type, false, state)
    case AS_DECIMAL:
      return writeNumeric(out, from, to, digits, scale, false, (checkAt(state) & INFERRED) != 0, state)
    case AS_DOUBLE:
      return writeDouble(out, from, to, false)
    case AS_BOOLEAN:
      return writeBoolean(out, from, to, false, state)
    case AS_REAL:
      return writeReal(out, from, to)
    default:
      return writeTime(out, from, to, type, false, state)
  }
}

/**
 * Writes a date or time, and records in the column's state how it is printed. In a wider type, a date becomes its midnight, and a timestamp
 * without a zone is in UTC.
 */
function writeTime(out: usize, from: usize, to: usize, type: u8, inferred: bool, state: usize): i32 {
  const kind = timeKind(from, to, spellingsTakenAt(state))
  if (kind == TEXT) return UNFIT
  if (type == AS_DATE) {
    if (kind != DATE) return UNFIT
    recordTimeForm(state, from, to, kind)
    store<i32>(out, bswap<i32>(days))
    return 4
  }
  if (type == AS_TIMESTAMP ? kind == TIMESTAMPTZ : inferred && kind != TIMESTAMPTZ) return UNFIT
  recordTimeForm(state, from, to, kind)
  store<i64>(out, bswap<i64>(timestamp()))
  return 8
}
