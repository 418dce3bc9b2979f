/*
 * The binary COPY format of a row: the number of its fields, then each value with its length before it. All numbers are
 * big-endian.
 */

export const FIELD_COUNT_BYTES: usize = 2
export const VALUE_LENGTH_BYTES: usize = 4

/** Returns the number of fields of the row at `at`. */
@inline export function readFieldCount(at: usize): i32 { return <i32>bswap<u16>(load<u16>(at)) }

/** Returns the length in bytes of the value after `at`, or -1 for null. */
@inline export function readValueBytes(at: usize): i32 { return <i32>bswap<u32>(load<u32>(at)) }
