/** A buffer that cell writers fill. The caller ensures its capacity. */
export interface GrowingBuffer {
  bytes: Buffer
  position: number
}

/** Thrown for a value that does not fit its column. The message is a clause that can follow a colon. */
export class MisfitCell extends Error {
  override readonly name = 'MisfitCell'
}

/** Converts one value from PostgreSQL's big-endian format to another server's little-endian format. */
export type CellWriter = (from: DataView, position: number, length: number, out: GrowingBuffer) => void

const negativeSign = 0x4000
const positiveSign = 0
/** A double represents all integers of up to this many decimal digits exactly. */
const exactDigits = 15

/** A decimal as an integer, that is, without its decimal point. */
interface WholeNumber {
  negative: boolean
  /** The absolute value. It is a bigint only if a double would be inexact. */
  magnitude: number | bigint
}

/**
 * Converts PostgreSQL's binary numeric (digit count, weight, sign, scale, digits in base 10,000) to the integer value ×
 * 10^`scale`. Rounds excess digits, halves away from zero. Throws if the result has more than `precision` digits; the
 * message names `server`.
 */
export function wholeNumber(
  from: DataView,
  position: number,
  length: number,
  { precision, scale, server }: { precision: number; scale: number; server: string },
): WholeNumber {
  const count = length >= 8 ? from.getInt16(position) : -1
  if (count < 0 || length !== 8 + 2 * count) throw new MisfitCell('incorrect binary data format')
  const weight = from.getInt16(position + 2)
  const sign = from.getUint16(position + 4)
  if (sign !== positiveSign && sign !== negativeSign)
    throw new MisfitCell(
      `${server} cannot store NaN or infinity in a decimal column. Load the column as text, or correct the value at the source`,
    )
  // The exponent of the last digit once the decimal point is removed.
  const power = (weight - count + 1) * 4 + scale
  const exact = Math.max(0, power) + 4 * count <= exactDigits && power >= 0
  const magnitude = exact
    ? readNumberMagnitude(from, position + 8, count, power)
    : readBigintMagnitude(from, position + 8, count, power)
  if (BigInt(magnitude) >= limitOf(precision)) throw tooLarge(precision, scale)
  return { negative: sign === negativeSign, magnitude }
}

const digitLimits = new Map<number, bigint>()

function limitOf(precision: number): bigint {
  const limit = digitLimits.get(precision) ?? 10n ** BigInt(precision)
  digitLimits.set(precision, limit)
  return limit
}

function readNumberMagnitude(from: DataView, position: number, count: number, power: number): number {
  let magnitude = 0
  for (let index = 0; index < count; index++) magnitude = magnitude * 10_000 + from.getUint16(position + 2 * index)
  return magnitude * 10 ** power
}

function readBigintMagnitude(from: DataView, position: number, count: number, power: number): bigint {
  let magnitude = 0n
  for (let index = 0; index < count; index++)
    magnitude = magnitude * 10_000n + BigInt(from.getUint16(position + 2 * index))
  if (power >= 0) return magnitude * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return (magnitude + divisor / 2n) / divisor
}

const tooLarge = (precision: number, scale: number) =>
  new MisfitCell(
    `the number has more than ${precision - scale} digits before the decimal point, the maximum of the column. Load the column as text, or set another precision`,
  )
