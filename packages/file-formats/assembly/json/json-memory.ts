/**
 * The areas of the JSON scanner's memory. Their sizes are fixed. A page that no record needs is never touched, so it takes
 * addresses but no memory.
 */

/** PostgreSQL's limit of columns per table. */
export const MAX_COLUMNS: i32 = 1600
/** Maximum depth of nested values. */
export const MAX_DEPTH: i32 = 512

/** The end of the program's constants. */
const FIRST: usize = 0x10000

/** The values of the current object by column: start u32 @0, end u32 @4, inside the quotes of a text. */
export const VALUES: usize = FIRST
/** The kinds of these values, one byte each: read-object.ts. */
export const KINDS: usize = VALUES + <usize>MAX_COLUMNS * 8
/** Bits for the kinds of values that a column has had: write-row.ts. */
export const SEEN: usize = KINDS + <usize>MAX_COLUMNS
/** The first spelling of each column's key: address u32 @0 (0 if it is not stored), length u32 @4. */
export const KEYS: usize = SEEN + <usize>MAX_COLUMNS
/** The opening brackets around the current value. */
export const OPEN: usize = KEYS + <usize>MAX_COLUMNS * 8

/** The spellings of the keys, each followed by 16 unused bytes. */
export const SPELLINGS: usize = OPEN + <usize>MAX_DEPTH
export const SPELLINGS_BYTES: usize = 1 << 18

/** Lines of delimited text. */
export const OUT: usize = (SPELLINGS + SPELLINGS_BYTES + 63) & ~63
export const OUT_BYTES: usize = 34 << 20

/** The JSON text. Up to 16 bytes after its end are read and ignored. */
export const IN: usize = OUT + OUT_BYTES
export const IN_BYTES: usize = 52 << 20
