/**
 * Result codes instead of a length: null as in COPY, a value that needs a wider inferred type, and a value that rejects
 * its row.
 */
export const NULL_LENGTH: i32 = -1
export const UNFIT: i32 = -2
export const REFUSED: i32 = -3
