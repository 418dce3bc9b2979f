/**
 * The areas of this module's memory. Their sizes are fixed. A page that no record needs is never touched, so it takes addresses
 * but no memory.
 */

/** PostgreSQL's limit of columns per table. */
export const MAX_COLUMNS: i32 = 1600

/** The end of the program's constants. */
const FIRST: usize = 0x10000

/** The state of each column; column-state.ts has the offsets. */
export const COLUMNS: usize = FIRST
export const COLUMN_BYTES: usize = 32

/** The fields of the current record; fields.ts has the offsets. */
export const FIELDS: usize = COLUMNS + <usize>MAX_COLUMNS * COLUMN_BYTES
export const FIELD_BYTES: usize = 16

/** The columns with an inferred type that no value has needed yet: unproven-columns.ts. */
export const OPEN: usize = FIELDS + <usize>MAX_COLUMNS * FIELD_BYTES
const OPEN_BYTES: usize = <usize>MAX_COLUMNS * 4

/** Consecutive spellings of null, each after a byte with its length: null-spellings.ts. */
export const NULLS: usize = OPEN + OPEN_BYTES
export const NULLS_BYTES: usize = 4096

/** A number without its exponent: write-numeric.ts. */
export const EXPANDED: usize = NULLS + NULLS_BYTES
export const EXPANDED_BYTES: usize = 1024

/** Powers of five for parse-double.ts, 16 bytes each. */
export const POWERS: usize = EXPANDED + EXPANDED_BYTES
const POWERS_BYTES: usize = 651 * 16

/** The fields at the end of every row: encode-record.ts. */
export const SUFFIX: usize = POWERS + POWERS_BYTES
export const SUFFIX_BYTES: usize = 64 << 10

/** Rows in PostgreSQL's binary COPY format. */
export const OUT: usize = (SUFFIX + SUFFIX_BYTES + 63) & ~63
export const OUT_BYTES: usize = 18 << 20

/** The text. Up to 64 bytes after its end are read and ignored. */
export const IN: usize = OUT + OUT_BYTES
export const IN_BYTES: usize = 33 << 20
