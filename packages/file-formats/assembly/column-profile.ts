import { AS_BIGINT, AS_BOOLEAN, AS_DATE, AS_DECIMAL, AS_DOUBLE, AS_INTEGER, AS_JSON, AS_REAL, AS_SMALLINT, AS_TEXT, AS_TIMESTAMP, AS_TIMESTAMPTZ, AS_VARCHAR } from './column-state'
import { count, hashBytes, hashNumber } from './estimate-distinct'
import { PROFILE_BYTES, PROFILES, REGISTER_COUNT, REGISTERS } from './memory-layout'
import { keepNumeric, keepText } from './min-max-text'
import { characters } from './texts'

/*
 * The profile of a column: nulls u64 @0, maximum length in characters u32 @8, kind u8 @12, whether there is a value u8 @13, minimum and
 * maximum as i64 keys @16 and @24 (the value or a key with its order), their lengths u32 @32 and @36, their bytes, up to 64 each, @40
 * and @104.
 */

@inline export function profileOf(column: i32): usize {
  return PROFILES + <usize>column * PROFILE_BYTES
}

/** Sets the stored type of a column, one of AS_…. */
export function setProfile(column: i32, kind: u8): void {
  store<u8>(profileOf(column), kind, 12)
}

export function forgetProfiles(columns: i32): void {
  memory.fill(PROFILES, 0, <usize>columns * PROFILE_BYTES)
  memory.fill(REGISTERS, 0, <usize>columns * REGISTER_COUNT)
}

/** Observes whole tuples of binary COPY. */
export function profile(from: usize, to: usize): void {
  let at = from
  while (at < to) {
    const width = <i32>bswap<u16>(load<u16>(at))
    at += 2
    for (let column = 0; column < width; column++) {
      const length = <i32>bswap<u32>(load<u32>(at))
      at += 4
      const state = profileOf(column)
      if (length < 0) {
        store<u64>(state, load<u64>(state) + 1)
        continue
      }
      takeValue(column, state, at, length)
      at += <usize>length
    }
  }
}

@inline function takeValue(column: i32, state: usize, at: usize, length: i32): void {
  switch (load<u8>(state, 12)) {
    case AS_TEXT:
    case AS_VARCHAR:
      if (length > load<i32>(state, 8)) {
        const many = characters(at, length)
        if (many > load<i32>(state, 8)) store<i32>(state, many, 8)
      }
      keepText(state, at, length)
      return count(column, hashBytes(at, length))
    case AS_SMALLINT:
      return takeNumber(column, state, <i64><i16>bswap<u16>(load<u16>(at)))
    case AS_INTEGER:
    case AS_DATE:
      return takeNumber(column, state, <i64><i32>bswap<u32>(load<u32>(at)))
    case AS_BIGINT:
    case AS_TIMESTAMP:
    case AS_TIMESTAMPTZ:
      return takeNumber(column, state, <i64>bswap<u64>(load<u64>(at)))
    case AS_BOOLEAN:
      return takeNumber(column, state, <i64>load<u8>(at))
    case AS_DOUBLE:
      return takeNumber(column, state, ordered(<i64>bswap<u64>(load<u64>(at))))
    case AS_REAL:
      return takeNumber(column, state, ordered(reinterpret<i64>(<f64>reinterpret<f32>(bswap<u32>(load<u32>(at))))))
    case AS_DECIMAL:
      keepNumeric(state, at, length)
      return count(column, hashNumeric(at, length))
    case AS_JSON:
      return count(column, hashBytes(at, length))
  }
}

/** Hashes a numeric without the scale at offset 6, because 1.5 and 1.50 are the same number. */
@inline function hashNumeric(at: usize, length: i32): u64 {
  const head = load<u32>(at) ^ (<u32>load<u16>(at, 4) << 7)
  return hashBytes(at + 8, length - 8) ^ hashNumber(<i64>head)
}

/** Converts the bits of a double to a key with the order of the numbers, and back. */
@inline function ordered(bits: i64): i64 {
  return bits ^ <i64>(<u64>(bits >> 63) >>> 1)
}

@inline function takeNumber(column: i32, state: usize, value: i64): void {
  if (load<u8>(state, 13) == 0) {
    store<u8>(state, 1, 13)
    store<i64>(state, value, 16)
    store<i64>(state, value, 24)
  } else {
    if (value < load<i64>(state, 16)) store<i64>(state, value, 16)
    if (value > load<i64>(state, 24)) store<i64>(state, value, 24)
  }
  count(column, hashNumber(value))
}
