import { countedValuesAt, hasManyValuesAt } from './column-state'
import { STORED_BYTES, MAX_COUNTED_VALUES, REGISTER_COUNT, registers, SLOT_BYTES, SLOT_COUNT, slots, VALUE_BYTES, values } from './memory-layout'

/*
 * Counts the distinct values of a column: exactly while they are few, in a hash table. A slot of the table contains the
 * value's hash (u64 @0) and its count (u64 @8), with the number of the stored value in the upper 8 bits. A column with
 * more distinct values uses HyperLogLog (Flajolet and others, 2007) with 1,024 registers, which has a standard error of
 * 3.3 %. The host computes the estimate from the registers.
 */

const COUNT_BITS: u64 = 56

/** Results of `countValue` that are not addresses. */
export const COUNTED_BEFORE: usize = 0
export const NOT_STORED: usize = 1

/**
 * Counts a value by its hash. Returns COUNTED_BEFORE if an equal value was counted before; the value then changes
 * neither minimum nor maximum. Returns NOT_STORED if the column has too many distinct values. Otherwise, returns the
 * address where the caller must store the value.
 */
@inline export function countValue(column: i32, state: usize, hash: u64): usize {
  if (hasManyValuesAt(state)) {
    updateRegister(column, hash)
    return NOT_STORED
  }
  const table = slots + <usize>(column * SLOT_COUNT * SLOT_BYTES)
  const slot = table + <usize>(<i32>hash & (SLOT_COUNT - 1)) * SLOT_BYTES
  if (load<u64>(slot) == hash && load<u64>(slot, 8) != 0) {
    store<u64>(slot, load<u64>(slot, 8) + 1, 8)
    return COUNTED_BEFORE
  }
  return countInTable(column, state, hash, table)
}

/** Counts a value in the hash table. Searches the slots from the one that its hash determines. */
function countInTable(column: i32, state: usize, hash: u64, table: usize): usize {
  let index = <i32>hash & (SLOT_COUNT - 1)
  let slot = table + <usize>index * SLOT_BYTES
  while (load<u64>(slot, 8) != 0) {
    if (load<u64>(slot) == hash) {
      store<u64>(slot, load<u64>(slot, 8) + 1, 8)
      return COUNTED_BEFORE
    }
    index = (index + 1) & (SLOT_COUNT - 1)
    slot = table + <usize>index * SLOT_BYTES
  }
  const counted = countedValuesAt(state)
  if (counted == MAX_COUNTED_VALUES) {
    moveToRegisters(column, state, table)
    updateRegister(column, hash)
    return NOT_STORED
  }
  store<u64>(slot, hash)
  store<u64>(slot, (<u64>counted << COUNT_BITS) | 1, 8)
  store<u8>(state, <u8>(counted + 1), 3)
  return values + <usize>((column * MAX_COUNTED_VALUES + counted) * VALUE_BYTES)
}

/** Changes to HyperLogLog: adds all counted values to the registers. */
function moveToRegisters(column: i32, state: usize, table: usize): void {
  store<u8>(state, 1, 2)
  for (let index = 0; index < SLOT_COUNT; index++) {
    const slot = table + <usize>index * SLOT_BYTES
    if (load<u64>(slot, 8) != 0) updateRegister(column, load<u64>(slot))
  }
}

/**
 * Adds a hash to HyperLogLog. The first 10 bits of a hash determine its register, which stores the maximum number of
 * leading zeros, plus 1, in the other 54 bits of its hashes. The bit 512 follows these bits, so it ends their zeros.
 */
@inline function updateRegister(column: i32, hash: u64): void {
  const register = registers + <usize>column * REGISTER_COUNT + <usize>(hash >>> 54)
  const rank = <u8>clz((hash << 10) | 512) + 1
  if (rank > load<u8>(register)) store<u8>(register, rank)
}

/** Stores a sort key at the address that `countValue` returned, unless it is NOT_STORED. */
@inline export function storeKey(address: usize, key: i64): void {
  if (address == NOT_STORED) return
  store<u32>(address, 8)
  store<i64>(address, key, 4)
}

/** Stores the first bytes of a value, as `storeKey` does. */
@inline export function storeBytes(address: usize, at: usize, length: i32): void {
  if (address == NOT_STORED) return
  store<u32>(address, length)
  memory.copy(address + 4, at, <usize>min(length, STORED_BYTES))
}
