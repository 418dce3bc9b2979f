import { type DecimalVector, wholeOf } from '@sluice/tuples'
import type { Remarks } from './fill.ts'

/** Puts an unscaled integer into the vector, given by its halves or where those do not hold it as `big`. */
export function storeDecimal(
  vector: DecimalVector,
  row: number,
  low: number,
  high: number,
  big: bigint | undefined,
  digits: number,
  remarks: Remarks,
): void {
  vector.low[row] = low
  vector.high[row] = high
  if (big !== undefined) {
    vector.big ??= new Map()
    vector.big.set(row, big)
  } else vector.big?.delete(row)
  // 64 bits hold no more than 19 digits.
  if (big === undefined && digits >= 19) return
  const value = big ?? wholeOf(low, high)
  const tooLong =
    typeof value === 'number' && digits <= 15
      ? Math.abs(value) >= 10 ** digits
      : magnitude(value) >= 10n ** BigInt(digits)
  if (tooLong) remarks.fault(row, `has more than the ${digits} digits that its column says`)
}

function magnitude(value: number | bigint): bigint {
  const whole = BigInt(value)
  return whole < 0n ? -whole : whole
}
