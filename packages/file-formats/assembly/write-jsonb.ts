import { checkAt, VALID_JSON } from './column-state'
import { REFUSED } from './value-result-codes'

/** Calls the host (the calling JavaScript) to check that PostgreSQL can store this text as JSONB. */
@external('host', 'isJson')
declare function isJson(from: usize, length: i32): i32

/**
 * Writes the version byte of binary JSONB at `out`. The JSON text is already at the next byte. Returns REFUSED for
 * invalid JSON.
 */
export function asJson(out: usize, length: i32, state: usize): i32 {
  if ((checkAt(state) & VALID_JSON) == 0 && isJson(out + 1, length) == 0) return REFUSED
  store<u8>(out, 1)
  return length + 1
}
