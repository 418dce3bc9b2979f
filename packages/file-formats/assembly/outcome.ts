/** Lengths that are none: null as COPY writes it, a value that its type cannot take, one that it is refused for. */
export const NULL_LENGTH: i32 = -1
export const UNFIT: i32 = -2
export const REFUSED: i32 = -3
