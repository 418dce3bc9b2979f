import { countedAt, isUncountedAt } from './column-state'
import { KEPT_BYTES, MAX_COUNTED, REGISTER_COUNT, registers, SLOT_BYTES, SLOT_COUNT, slots, VALUE_BYTES, values } from './memory-layout'

/*
 * Counts the distinct values of a column: exactly while they are few, in a hash table. A slot of the table contains the
 * value's hash (u64 @0) and its count (u64 @8), with the number of the stored value in the upper 8 bits. A column with
 * more distinct values uses HyperLogLog (Flajolet and others, 2007) with 1,024 registers, which has a standard error of
 * 3.3 %. The host computes the estimate from the registers.
 */

const COUNT_BITS: u64 = 56

/** Results of `countValue` instead of an address. */
export const SEEN: usize = 0
export const NOT_KEPT: usize = 1

/**
 * Counts a value. Returns SEEN if an equal value was counted before, so that minimum and maximum do not change.
 * Otherwise returns the address for storing the value, or NOT_KEPT if the column has too many distinct values.
 */
@inline export function countValue(column: i32, state: usize, hash: u64): usize {
  if (isUncountedAt(state)) {
    observe(column, hash)
    return NOT_KEPT
  }
  const table = slots + <usize>(column * SLOT_COUNT * SLOT_BYTES)
  const slot = table + <usize>(<i32>hash & (SLOT_COUNT - 1)) * SLOT_BYTES
  if (load<u64>(slot) == hash && load<u64>(slot, 8) != 0) {
    store<u64>(slot, load<u64>(slot, 8) + 1, 8)
    return SEEN
  }
  return findOrAdd(column, state, hash, table)
}

function findOrAdd(column: i32, state: usize, hash: u64, table: usize): usize {
  let index = <i32>hash & (SLOT_COUNT - 1)
  let slot = table + <usize>index * SLOT_BYTES
  while (load<u64>(slot, 8) != 0) {
    if (load<u64>(slot) == hash) {
      store<u64>(slot, load<u64>(slot, 8) + 1, 8)
      return SEEN
    }
    index = (index + 1) & (SLOT_COUNT - 1)
    slot = table + <usize>index * SLOT_BYTES
  }
  const counted = countedAt(state)
  if (counted == MAX_COUNTED) {
    stopCounting(column, state, table)
    observe(column, hash)
    return NOT_KEPT
  }
  store<u64>(slot, hash)
  store<u64>(slot, (<u64>counted << COUNT_BITS) | 1, 8)
  store<u8>(state, <u8>(counted + 1), 3)
  return values + <usize>((column * MAX_COUNTED + counted) * VALUE_BYTES)
}

function stopCounting(column: i32, state: usize, table: usize): void {
  store<u8>(state, 1, 2)
  for (let index = 0; index < SLOT_COUNT; index++) {
    const slot = table + <usize>index * SLOT_BYTES
    if (load<u64>(slot, 8) != 0) observe(column, load<u64>(slot))
  }
}

/** HyperLogLog: keeps, per register, the maximum number of leading zeros in the hashes. */
@inline function observe(column: i32, hash: u64): void {
  const register = registers + <usize>column * REGISTER_COUNT + <usize>(hash >>> 54)
  const rank = <u8>clz((hash << 10) | 512) + 1
  if (rank > load<u8>(register)) store<u8>(register, rank)
}

/** Stores a value at the address that `countValue` returned. */
@inline export function keepKey(kept: usize, key: i64): void {
  if (kept == NOT_KEPT) return
  store<u32>(kept, 8)
  store<i64>(kept, key, 4)
}

@inline export function keepBytes(kept: usize, at: usize, length: i32): void {
  if (kept == NOT_KEPT) return
  store<u32>(kept, length)
  memory.copy(kept + 4, at, <usize>min(length, KEPT_BYTES))
}
