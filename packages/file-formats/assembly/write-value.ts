import {
  STORED_WIDER, AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_JSON, AS_NOTHING, AS_REAL, AS_SMALLINT, AS_TEXT,
  AS_TIMESTAMP, AS_VARCHAR, DATE, INFERRED, TEXT, TIMESTAMPTZ,
  checkAt, typeAt, maxIntegerDigitsAt, maxScaleAt, allowedDateFormatsAt, maxCharactersAt, storedTypeAt, storedMaxIntegerDigitsAt, storedMaxScaleAt,
} from './column-state'
import { writeBoolean } from './write-boolean'
import { DOUBLED, endOf, LITERAL, flagsOf, startOf } from './field-layout'
import { writeDouble, writeReal } from './write-double'
import { writeInteger } from './write-integer'
import { completeJsonb } from './write-jsonb'
import { meansNull } from './null-texts'
import { writeNumeric } from './write-numeric'
import { NULL_LENGTH, REJECTS_ROW, DOES_NOT_FIT } from './value-result-codes'
import { copyUndoubled, copyPlain, limitCharacters } from './copy-field-text'
import { days, recordTimeFormat, readTime, lastTimestamp } from './read-time'

/**
 * Writes the value of a field in the stored type of its column. Returns its length. Returns NULL_LENGTH for null,
 * DOES_NOT_FIT if the inferred type of the column is too narrow for the value, and REJECTS_ROW if the value does not
 * fit the declared type. A quoted empty field is an empty text in a text column and null in other columns.
 */
@inline export function writeField(out: usize, field: usize, state: usize): i32 {
  const from = startOf(field)
  const to = endOf(field)
  const storedType = storedTypeAt(state)
  if (from == to) {
    const isTextColumn = storedType == AS_TEXT || storedType == AS_VARCHAR
    if (flagsOf(field) == 0 || !isTextColumn) return NULL_LENGTH
  } else if (meansNull(from, to) && (flagsOf(field) & LITERAL) == 0) return NULL_LENGTH
  if (storedType == AS_TEXT && (checkAt(state) & STORED_WIDER) == 0) return writeText(out, field, from, to)
  return writeTyped(out, field, state)
}

@inline function writeText(out: usize, field: usize, from: usize, to: usize): i32 {
  return flagsOf(field) & DOUBLED ? copyUndoubled(out, from, to) : copyPlain(out, from, to)
}

/** Writes a value that is not null and must be checked. */
function writeTyped(out: usize, field: usize, state: usize): i32 {
  const storedType = storedTypeAt(state)
  const check = checkAt(state)
  const from = startOf(field)
  const to = endOf(field)
  if (check & STORED_WIDER) {
    // Checks the value against the inferred or declared type: what is written here will be overwritten.
    const isInferred = (check & INFERRED) != 0
    const length = isInferred
      ? writeInferred(out, from, to, typeAt(state), state)
      : writeDeclaredOrJson(out, field, from, to, state)
    if (length < 0 && from != to) return isInferred ? DOES_NOT_FIT : REJECTS_ROW
  }
  switch (storedType) {
    case AS_TEXT:
      return writeText(out, field, from, to)
    case AS_VARCHAR:
      return limitCharacters(out, writeText(out, field, from, to), <i32>maxCharactersAt(state))
    case AS_JSON:
      return completeJsonb(out, writeText(out + 1, field, from, to), state)
    case AS_REAL: {
      const length = writeReal(out, from, to)
      return length == DOES_NOT_FIT ? REJECTS_ROW : length
    }
    default: {
      if (check == INFERRED) return writeInferred(out, from, to, storedType, state)
      const maxIntegerDigits = <i32>storedMaxIntegerDigitsAt(state)
      const length = writeDeclared(out, from, to, storedType, maxIntegerDigits, <i32>storedMaxScaleAt(state), state)
      return length == DOES_NOT_FIT ? REJECTS_ROW : length
    }
  }
}

/** Writes a value as the declared type of its column, which may be JSON. */
@inline function writeDeclaredOrJson(out: usize, field: usize, from: usize, to: usize, state: usize): i32 {
  const type = typeAt(state)
  if (type == AS_JSON) return completeJsonb(out, writeText(out + 1, field, from, to), state)
  return writeDeclared(out, from, to, type, <i32>maxIntegerDigitsAt(state), <i32>maxScaleAt(state), state)
}

/** Writes a value as the inferred type `type`. Returns the length, or DOES_NOT_FIT if the value needs a wider type. */
function writeInferred(out: usize, from: usize, to: usize, type: u8, state: usize): i32 {
  switch (type) {
    case AS_SMALLINT:
    case AS_INTEGER:
    case AS_BIGINT:
      return writeInteger(out, from, to, type, true, state)
    case AS_DECIMAL:
      return writeNumeric(out, from, to, <i32>maxIntegerDigitsAt(state), <i32>maxScaleAt(state), true, false, state)
    case AS_DOUBLE:
      return writeDouble(out, from, to, true)
    case AS_BOOLEAN:
      return writeBoolean(out, from, to, true, state)
    case AS_TEXT:
      // Any value is a text. The caller writes it.
      return 0
    case AS_NOTHING:
      return DOES_NOT_FIT
    default:
      return writeTime(out, from, to, type, true, state)
  }
}

/**
 * Writes a value as the type `type`, which is declared or stored. Returns the length, or DOES_NOT_FIT if the type would
 * change the value. The digits and scale are the maximum of a decimal.
 */
function writeDeclared(
  out: usize, from: usize, to: usize, type: u8, maxIntegerDigits: i32, maxScale: i32, state: usize,
): i32 {
  switch (type) {
    case AS_SMALLINT:
    case AS_INTEGER:
    case AS_BIGINT:
      return writeInteger(out, from, to, type, false, state)
    case AS_DECIMAL:
      return writeNumeric(out, from, to, maxIntegerDigits, maxScale, false, (checkAt(state) & INFERRED) != 0, state)
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
 * Writes a date or time as the type `type`, and records in the column's state how it is printed. Returns the length, or
 * DOES_NOT_FIT. In a TIMESTAMP or TIMESTAMPTZ, a date becomes its midnight, and a time without a zone is in UTC.
 */
function writeTime(out: usize, from: usize, to: usize, type: u8, inferred: bool, state: usize): i32 {
  const kind = readTime(from, to, allowedDateFormatsAt(state))
  if (kind == TEXT) return DOES_NOT_FIT
  if (type == AS_DATE) {
    if (kind != DATE) return DOES_NOT_FIT
    recordTimeFormat(state, from, to, kind)
    store<i32>(out, bswap<i32>(days))
    return 4
  }
  const hasZone = kind == TIMESTAMPTZ
  if (type == AS_TIMESTAMP && hasZone) return DOES_NOT_FIT
  // A column with times in UTC is inferred only if all values have a zone.
  if (type != AS_TIMESTAMP && inferred && !hasZone) return DOES_NOT_FIT
  recordTimeFormat(state, from, to, kind)
  store<i64>(out, bswap<i64>(lastTimestamp()))
  return 8
}
