/** Results of writing a value, instead of its length. NULL_LENGTH is the length of null in the COPY format. */
export const NULL_LENGTH: i32 = -1
/** The type cannot represent the value without changing it. */
export const DOES_NOT_FIT: i32 = -2
/** The value does not fit a declared type, so its row is rejected. */
export const REJECTS_ROW: i32 = -3

/** True if the result of writing a value is DOES_NOT_FIT or REJECTS_ROW. */
@inline export function isUnfit(length: i32): bool {
  return length <= DOES_NOT_FIT
}
