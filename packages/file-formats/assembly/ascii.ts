// Codes of ASCII characters.
export const SPACE: u8 = 32
export const PLUS: u8 = 43
export const MINUS: u8 = 45
export const POINT: u8 = 46
export const ZERO: u8 = 48
export const LOWER_E: u8 = 101
