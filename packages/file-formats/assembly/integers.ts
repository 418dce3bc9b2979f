import { AS_INTEGER, AS_SMALLINT, widenDigits } from './column-state'
import { recordInteger } from './source-formats'
import { UNFIT } from './value-result-codes'

const MINUS: u8 = 45
const PLUS: u8 = 43
const ZERO: u8 = 48

/**
 * Writes `[+-]digits` as an integer of the type. In an inferred column it has no plus and no leading zero and is not `-0`, as
 * parse-number.ts describes, and the column's state records the number of digits. The state of other columns records how it is printed.
 */
export function writeInteger(out: usize, from: usize, to: usize, type: u8, inferred: bool, state: usize): i32 {
  const sign = load<u8>(from)
  const negative = sign == MINUS
  let at = negative || sign == PLUS ? from + 1 : from
  const first = at
  if (!inferred) {
    while (to - at > 19 && load<u8>(at) == ZERO) at++
  } else if (sign == PLUS || (load<u8>(at) == ZERO && (to - at > 1 || negative))) return UNFIT
  if (at >= to || to - at > 19) return UNFIT
  const digits = <i32>(to - at)
  let value: u64 = 0
  for (; at < to; at++) {
    const digit = <u32>load<u8>(at) - 48
    if (digit > 9) return UNFIT
    value = value * 10 + <u64>digit
  }
  const most: u64 = (type == AS_SMALLINT ? 32767 : type == AS_INTEGER ? 2147483647 : 9223372036854775807) + (negative ? 1 : 0)
  if (value > most) return UNFIT
  if (!inferred) recordInteger(state, sign, first, to)
  else if (value != 0) widenDigits(state, digits, 0)
  const signed = negative ? -(<i64>value) : <i64>value
  if (type == AS_SMALLINT) {
    store<u16>(out, bswap<u16>(<u16>signed))
    return 2
  }
  if (type == AS_INTEGER) {
    store<i32>(out, bswap<i32>(<i32>signed))
    return 4
  }
  store<i64>(out, bswap<i64>(signed))
  return 8
}
