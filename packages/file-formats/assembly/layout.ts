/**
 * Where everything lies in this module's memory. Nothing is ever allocated: the areas are fixed, and pages that no record
 * is long enough for are never touched, so they cost addresses and not memory.
 */

/** A table of PostgreSQL holds at most this many columns. */
export const MAX_COLUMNS: i32 = 1600

/** Constants of the program itself come before this. */
const FIRST: usize = 0x10000

/** One state for each column; the offsets of what is in it are in columns.ts. */
export const COLUMNS: usize = FIRST
export const COLUMN_BYTES: usize = 32

/** The fields of the record at hand; the offsets are in fields.ts. */
export const FIELDS: usize = COLUMNS + <usize>MAX_COLUMNS * COLUMN_BYTES
export const FIELD_BYTES: usize = 16

/** The columns whose guessed type still waits for a value that needs it: open.ts. */
export const OPEN: usize = FIELDS + <usize>MAX_COLUMNS * FIELD_BYTES
const OPEN_BYTES: usize = <usize>MAX_COLUMNS * 4

/** Spellings of null, one behind the other, each after a byte with its length: nulls.ts. */
export const NULLS: usize = OPEN + OPEN_BYTES
export const NULLS_BYTES: usize = 4096

/** A number without its exponent: numeric.ts. */
export const EXPANDED: usize = NULLS + NULLS_BYTES
export const EXPANDED_BYTES: usize = 1024

/** Powers of five for doubles.ts, 16 bytes each. */
export const POWERS: usize = EXPANDED + EXPANDED_BYTES
const POWERS_BYTES: usize = 651 * 16

/** What each column was found to hold, and how many different values: profile.ts. */
export const PROFILES: usize = (POWERS + POWERS_BYTES + 63) & ~63
export const PROFILE_BYTES: usize = 192
export const REGISTERS: usize = PROFILES + <usize>MAX_COLUMNS * PROFILE_BYTES
export const REGISTER_COUNT: usize = 1024

/** Rows in PostgreSQL's binary COPY format. */
export const OUT: usize = (REGISTERS + <usize>MAX_COLUMNS * REGISTER_COUNT + 63) & ~63
export const OUT_BYTES: usize = 18 << 20

/** The text that is read. What is behind its end is read too, 64 bytes at most, and not looked at. */
export const IN: usize = OUT + OUT_BYTES
export const IN_BYTES: usize = 33 << 20
