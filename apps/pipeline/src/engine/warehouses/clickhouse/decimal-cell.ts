import type { CellWriter, Grown } from '../rows/cell-writer.ts'
import { wholeNumber } from '../rows/whole-number.ts'

/** A decimal of ClickHouse: a whole number of 4, 8, 16 or 32 bytes, times ten to the power of minus `scale`. */
export function copyDecimal(precision: number, scale: number): CellWriter {
  const width = precision <= 9 ? 4 : precision <= 18 ? 8 : precision <= 38 ? 16 : 32
  const shape = { precision, scale, server: 'ClickHouse' }
  return (from, at, length, out) => {
    const { negative, magnitude } = wholeNumber(from, at, length, shape)
    if (typeof magnitude === 'number') writeSmall(negative ? -magnitude : magnitude, width, out)
    else writeLarge(negative ? -magnitude : magnitude, width, out)
    out.at += width
  }
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
