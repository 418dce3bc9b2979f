import { checkAt, VALID_JSON } from './column-state'
import { REJECTS_ROW } from './value-result-codes'

/** Lets the host (the calling JavaScript) check that PostgreSQL can store a text as JSONB. Returns 0 if it cannot. */
@external('host', 'isJson')
declare function isJson(from: usize, length: i32): i32

const JSONB_VERSION: u8 = 1

/**
 * Writes the version byte of binary JSONB at `out`. The caller has already written the JSON text, of `length` bytes,
 * after it. Returns the length of both, or REJECTS_ROW for JSON that PostgreSQL cannot store.
 */
export function completeJsonb(out: usize, length: i32, state: usize): i32 {
  const isChecked = (checkAt(state) & VALID_JSON) != 0
  if (!isChecked && isJson(out + 1, length) == 0) return REJECTS_ROW
  store<u8>(out, JSONB_VERSION)
  return length + 1
}
