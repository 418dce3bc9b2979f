/**
 * The memory areas of this module. Their sizes are fixed. The operating system provides memory only for pages that are
 * used, so large areas cost nothing until a record needs them.
 */

/** PostgreSQL's maximum number of columns per table. */
export const MAX_COLUMNS: i32 = 1600

/** The end of the compiler's constants. */
const FIRST: usize = 0x10000

/** The state of each column. column-state.ts describes the layout. */
export const COLUMNS: usize = FIRST
export const COLUMN_BYTES: usize = 32

/** The fields of the current record. field-layout.ts describes the layout. */
export const FIELDS: usize = COLUMNS + <usize>MAX_COLUMNS * COLUMN_BYTES
export const FIELD_BYTES: usize = 16

/** The indexes of the unconfirmed columns; see unconfirmed-column-types.ts. */
export const UNCONFIRMED: usize = FIELDS + <usize>MAX_COLUMNS * FIELD_BYTES
const UNCONFIRMED_BYTES: usize = <usize>MAX_COLUMNS * 4

/** The texts that mean null, each after a byte with its length; see null-texts.ts. */
export const NULL_TEXTS: usize = UNCONFIRMED + UNCONFIRMED_BYTES
export const NULL_TEXTS_BYTES: usize = 4096

/** The current number, rewritten without its exponent; see write-numeric.ts. */
export const WITHOUT_EXPONENT: usize = NULL_TEXTS + NULL_TEXTS_BYTES
export const WITHOUT_EXPONENT_BYTES: usize = 1024

/** Powers of five for read-double.ts, 16 bytes each. */
export const POWERS: usize = WITHOUT_EXPONENT + WITHOUT_EXPONENT_BYTES
const POWERS_BYTES: usize = 651 * 16

/** Constant fields that follow the fields of every record; see encode-record.ts. */
export const SUFFIX: usize = POWERS + POWERS_BYTES
export const SUFFIX_BYTES: usize = 64 << 10

/** The output: rows in PostgreSQL's binary COPY format. */
export const OUT: usize = (SUFFIX + SUFFIX_BYTES + 63) & ~63
export const OUT_BYTES: usize = 18 << 20

/** The input: delimited text. Up to 64 bytes after its end may be read; their values are ignored. */
export const IN: usize = OUT + OUT_BYTES
export const IN_BYTES: usize = 33 << 20
