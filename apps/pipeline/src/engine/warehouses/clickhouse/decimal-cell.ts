import { type CellWriter, type Grown, MisfitCell } from './cell-writer.ts'

const negative = 0x4000
const positive = 0
/** Up to so many decimal digits a whole number is exact in a double. */
const exactDigits = 15

/**
 * PostgreSQL's binary numeric (count of digits, weight, sign, scale, then digits to the base of 10,000) as a decimal of
 * ClickHouse: a whole number of 4, 8, 16 or 32 bytes, times ten to the power of minus `scale`. Digits behind that are rounded.
 */
export function copyDecimal(precision: number, scale: number): CellWriter {
  const width = precision <= 9 ? 4 : precision <= 18 ? 8 : precision <= 38 ? 16 : 32
  const limit = 10n ** BigInt(precision)
  return (from, at, length, out) => {
    const count = length >= 8 ? from.getInt16(at) : -1
    if (count < 0 || length !== 8 + 2 * count) throw new MisfitCell('incorrect binary data format')
    const weight = from.getInt16(at + 2)
    const sign = from.getUint16(at + 4)
    if (sign !== positive && sign !== negative) throw new MisfitCell('ClickHouse has no decimal that is not a number')
    // The last digit counts ten to the power of this, once the point is gone.
    const power = (weight - count + 1) * 4 + scale
    const exact = Math.max(0, power) + 4 * count <= exactDigits && power >= 0
    const magnitude = exact ? small(from, at + 8, count, power) : large(from, at + 8, count, power)
    if (BigInt(magnitude) >= limit) throw tooLarge(precision, scale)
    if (typeof magnitude === 'number') writeSmall(sign === negative ? -magnitude : magnitude, width, out)
    else writeLarge(sign === negative ? -magnitude : magnitude, width, out)
    out.at += width
  }
}

function small(from: DataView, at: number, count: number, power: number): number {
  let whole = 0
  for (let index = 0; index < count; index++) whole = whole * 10_000 + from.getUint16(at + 2 * index)
  return whole * 10 ** power
}

/** Halves are rounded away from zero, as PostgreSQL does. */
function large(from: DataView, at: number, count: number, power: number): bigint {
  let whole = 0n
  for (let index = 0; index < count; index++) whole = whole * 10_000n + BigInt(from.getUint16(at + 2 * index))
  if (power >= 0) return whole * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return (whole + divisor / 2n) / divisor
}

function writeSmall(value: number, width: number, { bytes, at }: Grown): void {
  const upper = Math.floor(value / 4_294_967_296)
  bytes.writeInt32LE(value | 0, at)
  if (width === 4) return
  bytes.writeInt32LE(upper, at + 4)
  for (let index = 8; index < width; index += 4) bytes.writeInt32LE(value < 0 ? -1 : 0, at + index)
}

function writeLarge(value: bigint, width: number, { bytes, at }: Grown): void {
  if (width === 4) bytes.writeInt32LE(Number(value), at)
  else
    for (let index = 0; index < width; index += 8)
      bytes.writeBigInt64LE(BigInt.asIntN(64, value >> BigInt(index * 8)), at + index)
}

const tooLarge = (precision: number, scale: number) =>
  new MisfitCell(
    `the number has more than ${precision - scale} digits before its point, which is what the column has. Load it as text, or with another precision`,
  )
