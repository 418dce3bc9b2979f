/**
 * The memory areas of this module. `allocateAreas` computes the areas that depend on the number of columns. The
 * operating system provides memory only for pages that are written to.
 */

/** The input: rows in binary COPY format. Up to 16 bytes after their end may be read; their values are ignored. */
export const IN: usize = 0x1000
export const IN_BYTES: i32 = 1 << 20

/** The bytes of the number of fields of a row in IN, and of the length before each value. Both are big-endian. */
export const FIELD_COUNT_BYTES: usize = 2
export const VALUE_LENGTH_BYTES: usize = 4

/** Returns the number of fields of the row at `at`. */
@inline export function readFieldCount(at: usize): i32 { return <i32>bswap<u16>(load<u16>(at)) }

/** Returns the length in bytes of the value after `at`, or -1 for null. */
@inline export function readValueBytes(at: usize): i32 { return <i32>bswap<u32>(load<u32>(at)) }

/** The first bytes of a text that is longer than IN, then its hash. */
export const LONG_TEXT: usize = IN + <usize>IN_BYTES + 64
const LONG_TEXT_BYTES: usize = 128

/** The state of each column. column-state.ts describes the layout. */
export const STATES: usize = LONG_TEXT + LONG_TEXT_BYTES
export const STATE_BYTES: i32 = 208

/** The maximum number of bytes that are stored of a value. */
export const STORED_BYTES: i32 = 64

/**
 * The maximum number of distinct values of a column that are counted exactly, and the number of slots of the hash
 * table, twice as many. count-values.ts describes the layout.
 */
export const MAX_COUNTED_VALUES: i32 = 64
export const SLOT_COUNT: i32 = 128
export const SLOT_BYTES: i32 = 16
/** The bytes of a counted value: its length u32, then its first bytes. */
export const VALUE_BYTES: i32 = 4 + STORED_BYTES
/** The number of HyperLogLog registers of each column. */
export const REGISTER_COUNT: i32 = 1024

export let columnCount: i32 = 0
export let slots: usize = 0
export let values: usize = 0
export let registers: usize = 0
/** The area for the sample of rows. sample-rows.ts describes its format. */
export let sample: usize = 0
export let sampleLimit: usize = 0

const CACHE_LINE_BYTES: usize = 64
/** The unit of `memory.size` and `memory.grow`. */
const PAGE_BYTES: usize = 65_536

/** Returns the next multiple of `unit` at or after a position. */
@inline function roundUp(position: usize, unit: usize): usize { return (position + unit - 1) / unit * unit }

/**
 * Sets the positions of the areas for this number of columns, one area after another. Clears the areas, so that nothing
 * remains of the previous table.
 */
export function allocateAreas(columns: i32, sampleBytes: i32): void {
  columnCount = columns
  const count = <usize>columns
  slots = roundUp(STATES + count * STATE_BYTES, CACHE_LINE_BYTES)
  registers = slots + count * SLOT_COUNT * SLOT_BYTES
  values = registers + count * REGISTER_COUNT
  sample = values + count * MAX_COUNTED_VALUES * VALUE_BYTES
  sampleLimit = sample + <usize>sampleBytes
  const allocatedPages = <usize>memory.size()
  const neededPages = roundUp(sampleLimit, PAGE_BYTES) / PAGE_BYTES
  if (neededPages > allocatedPages) memory.grow(<i32>(neededPages - allocatedPages))
  // Clears only the pages that existed before. New pages are zero, and writing to them would allocate their memory.
  const clearedEnd = min(sampleLimit, allocatedPages * PAGE_BYTES)
  if (clearedEnd > IN) memory.fill(IN, 0, clearedEnd - IN)
}
