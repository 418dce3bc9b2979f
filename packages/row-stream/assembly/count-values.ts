import { countedValuesAt, hasManyValuesAt, setCountedValues, setHasManyValues } from './column-state'
import { STORED_BYTES, MAX_COUNTED_VALUES, REGISTER_COUNT, registers, SLOT_BYTES, SLOT_COUNT, slots, VALUE_BYTES, values } from './memory-layout'

/*
 * Counts the distinct values of a column: exactly while they are few, in a hash table. A slot of the table contains the
 * value's hash (u64 @0) and its count (u64 @8), with the number of the stored value in the upper 8 bits. A column with
 * more distinct values uses HyperLogLog (Flajolet and others, 2007) with 1,024 registers, which has a standard error of
 * 3.3 %. The host computes the estimate from the registers.
 */

const COUNT: usize = 8
const COUNT_BITS: u64 = 56

/** Returns the first slot to search for a hash. The number of slots is a power of two. */
@inline function firstSlotIndex(hash: u64): i32 { return <i32>hash & (SLOT_COUNT - 1) }
@inline function nextSlotIndex(index: i32): i32 { return (index + 1) & (SLOT_COUNT - 1) }
@inline function slotAt(table: usize, index: i32): usize { return table + <usize>index * SLOT_BYTES }
@inline function isSlotUsed(slot: usize): bool { return load<u64>(slot, COUNT) != 0 }
@inline function hashAt(slot: usize): u64 { return load<u64>(slot) }
@inline function incrementCount(slot: usize): void { store<u64>(slot, load<u64>(slot, COUNT) + 1, COUNT) }

/** Fills a slot with a hash that was counted once, and the number of its stored value. */
@inline function fillSlot(slot: usize, hash: u64, valueNumber: i32): void {
  store<u64>(slot, hash)
  store<u64>(slot, (<u64>valueNumber << COUNT_BITS) | 1, COUNT)
}

/** Returns where a value of a column is stored: its length, then its first bytes. */
@inline function storedValueAddress(column: i32, valueNumber: i32): usize {
  return values + <usize>((column * MAX_COUNTED_VALUES + valueNumber) * VALUE_BYTES)
}

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
  const slot = slotAt(table, firstSlotIndex(hash))
  if (hashAt(slot) == hash && isSlotUsed(slot)) {
    incrementCount(slot)
    return COUNTED_BEFORE
  }
  return countInTable(column, state, hash, table)
}

/**
 * Counts a value in the hash table: in the slot with its hash, or in the next empty slot. Changes the column to
 * HyperLogLog if it has too many values. Returns the same as `countValue`.
 */
function countInTable(column: i32, state: usize, hash: u64, table: usize): usize {
  let index = firstSlotIndex(hash)
  let slot = slotAt(table, index)
  while (isSlotUsed(slot)) {
    if (hashAt(slot) == hash) {
      incrementCount(slot)
      return COUNTED_BEFORE
    }
    index = nextSlotIndex(index)
    slot = slotAt(table, index)
  }
  const valueNumber = countedValuesAt(state)
  if (valueNumber == MAX_COUNTED_VALUES) {
    moveToRegisters(column, state, table)
    updateRegister(column, hash)
    return NOT_STORED
  }
  fillSlot(slot, hash, valueNumber)
  setCountedValues(state, valueNumber + 1)
  return storedValueAddress(column, valueNumber)
}

/** Changes to HyperLogLog: adds all counted values to the registers. */
function moveToRegisters(column: i32, state: usize, table: usize): void {
  setHasManyValues(state)
  for (let index = 0; index < SLOT_COUNT; index++) {
    const slot = slotAt(table, index)
    if (isSlotUsed(slot)) updateRegister(column, hashAt(slot))
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
