import { REFUSED } from './outcome'

/** Can PostgreSQL store this text as JSONB? */
@external('host', 'isJson')
declare function isJson(from: usize, length: i32): i32

/** Puts the version that the binary form of JSONB begins with before a text that lies one byte behind `out`. */
export function asJson(out: usize, length: i32): i32 {
  if (isJson(out + 1, length) == 0) return REFUSED
  store<u8>(out, 1)
  return length + 1
}
