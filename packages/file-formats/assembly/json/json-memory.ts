/**
 * The memory areas of the JSON scanner. Their sizes are fixed. The operating system provides memory only for pages that
 * are used, so large areas cost nothing until a record needs them.
 */

/** PostgreSQL's maximum number of columns per table. */
export const MAX_COLUMNS: i32 = 1600
/** The maximum nesting depth of values. */
export const MAX_DEPTH: i32 = 512

/** The end of the compiler's constants. */
const FIRST: usize = 0x10000

/**
 * The positions of the current object's values by column: start u32 @0, end u32 @4. For a text, the positions are
 * inside the quotes.
 */
export const VALUES: usize = FIRST
/** The kinds of these values, one byte for each column; see read-object.ts. */
export const KINDS: usize = VALUES + <usize>MAX_COLUMNS * 8
/** Bits for the kinds of all values in each column until now; see write-row.ts. */
export const SEEN: usize = KINDS + <usize>MAX_COLUMNS
/** The first spelling of each column's key: its address in SPELLINGS u32 @0 (0 if it is not there), length u32 @4. */
export const KEYS: usize = SEEN + <usize>MAX_COLUMNS
/** A stack with the opening brackets around the current value, one byte each. */
export const OPEN_BRACKETS: usize = KEYS + <usize>MAX_COLUMNS * 8

/** The spellings of the keys, each followed by 16 unused bytes. */
export const SPELLINGS: usize = OPEN_BRACKETS + <usize>MAX_DEPTH
export const SPELLINGS_BYTES: usize = 1 << 18

/** The output: lines of delimited text. */
export const OUT: usize = (SPELLINGS + SPELLINGS_BYTES + 63) & ~63
export const OUT_BYTES: usize = 34 << 20

/** The input: JSON text. Up to 16 bytes after its end may be read; their values are ignored. */
export const IN: usize = OUT + OUT_BYTES
export const IN_BYTES: usize = 52 << 20
