/** Kinds of values, as bits, so that what a column holds is one number. */
export const BOOLEAN = 1
export const INTEGER = 2
export const DECIMAL = 4
export const DOUBLE = 8
export const DATE = 16
export const TIMESTAMP = 32
export const TIMESTAMPTZ = 64
export const TEXT = 128
