/** A buffer that cell writers fill from `position` on. The caller ensures its capacity. */
export interface GrowingBuffer {
  bytes: Buffer
  position: number
}

/** Thrown for a value that does not fit its column. The message is a clause that can follow a colon. */
export class MisfitCell extends Error {
  override readonly name = 'MisfitCell'
}

/**
 * Reads one value in PostgreSQL's binary format and appends it to `out` in another server's format. The value has
 * `length` bytes from `position` on.
 */
export type CellWriter = (from: DataView, position: number, length: number, out: GrowingBuffer) => void

/**
 * PostgreSQL's binary numeric has a header of four 16-bit numbers: digit count, weight, sign and display scale. The
 * digits follow, 16 bits each, in base 10,000. The weight is the exponent of the first digit.
 */
const numericHeaderBytes = 8
const numericDigitBytes = 2
const decimalDigitsPerNumericDigit = 4
const negativeSign = 0x4000
const positiveSign = 0
/** A double represents all integers of up to this many decimal digits exactly. */
const exactDigits = 15

/** A decimal × 10^scale, which makes it an integer. */
interface ScaledInteger {
  negative: boolean
  /** The absolute value: a number with at most `exactDigits` digits, or a bigint. */
  magnitude: number | bigint
}

/**
 * Reads PostgreSQL's binary numeric and returns its value × 10^`scale` as an integer. Rounds excess digits, halves away
 * from zero. Throws `MisfitCell` if the result has more than `precision` digits, or if the value is NaN or infinite.
 * `server` is the name of the target server, for the message.
 */
export function readScaledInteger(
  from: DataView,
  position: number,
  length: number,
  { precision, scale, server }: { precision: number; scale: number; server: string },
): ScaledInteger {
  if (length < numericHeaderBytes) throw malformedNumeric()
  const digitCount = from.getInt16(position)
  const weight = from.getInt16(position + 2)
  const sign = from.getUint16(position + 4)
  if (digitCount < 0 || length !== numericHeaderBytes + numericDigitBytes * digitCount) throw malformedNumeric()
  if (sign !== positiveSign && sign !== negativeSign)
    throw new MisfitCell(
      `${server} cannot store NaN or infinity in a decimal column. Load the column as text, or correct the value at the source`,
    )
  const digitsPosition = position + numericHeaderBytes
  // The digits, read as one integer, have the last digit's exponent. The scale then shifts the decimal point.
  const lastDigitExponent = weight - digitCount + 1
  const power = lastDigitExponent * decimalDigitsPerNumericDigit + scale
  const maxResultDigits = digitCount * decimalDigitsPerNumericDigit + power
  const isExactAsDouble = power >= 0 && maxResultDigits <= exactDigits
  const magnitude = isExactAsDouble
    ? readNumberMagnitude(from, digitsPosition, digitCount, power)
    : readBigintMagnitude(from, digitsPosition, digitCount, power)
  if (BigInt(magnitude) >= powerOfTen(precision)) throw tooLarge(precision, scale)
  return { negative: sign === negativeSign, magnitude }
}

const malformedNumeric = () => new MisfitCell('incorrect binary data format')

const powersOfTen = new Map<number, bigint>()

/** Returns 10^`exponent`. Caches it, because the power is needed for each value of a column. */
function powerOfTen(exponent: number): bigint {
  const power = powersOfTen.get(exponent) ?? 10n ** BigInt(exponent)
  powersOfTen.set(exponent, power)
  return power
}

/** Returns the digits as one number × 10^`power`, for a result that a double represents exactly. */
function readNumberMagnitude(from: DataView, position: number, digitCount: number, power: number): number {
  let magnitude = 0
  for (let index = 0; index < digitCount; index++)
    magnitude = magnitude * 10_000 + from.getUint16(position + numericDigitBytes * index)
  return magnitude * 10 ** power
}

/** Returns the digits as one number × 10^`power`, rounded to an integer, halves upwards. */
function readBigintMagnitude(from: DataView, position: number, digitCount: number, power: number): bigint {
  let magnitude = 0n
  for (let index = 0; index < digitCount; index++)
    magnitude = magnitude * 10_000n + BigInt(from.getUint16(position + numericDigitBytes * index))
  if (power >= 0) return magnitude * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return (magnitude + divisor / 2n) / divisor
}

const tooLarge = (precision: number, scale: number) =>
  new MisfitCell(
    `the number has more than ${precision - scale} digits before the decimal point, the maximum of the column. Load the column as text, or set another precision`,
  )
