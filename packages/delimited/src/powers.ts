/**
 * The 651 powers of five from 5^-342 to 5^308 as the upper 128 bits of each, truncated (rounded up below 5^0), low half first:
 * what the method of Eisel and Lemire multiplies with ("Number parsing at a gigabyte per second", 2021).
 */
export function powersOfFive(): BigUint64Array<ArrayBuffer> {
  const powers = new BigUint64Array(651 * 2)
  const half = (1n << 64n) - 1n
  for (let power = -342; power <= 308; power++) {
    const bits = power < 0 ? reciprocal(5n ** BigInt(-power), power >= -27) : leading(5n ** BigInt(power))
    const at = (power + 342) * 2
    powers[at] = bits & half
    powers[at + 1] = bits >> 64n
  }
  return powers
}

/** A number's first 128 bits. */
function leading(value: bigint): bigint {
  const bits = BigInt(value.toString(2).length)
  return bits > 128n ? value >> (bits - 128n) : value << (128n - bits)
}

/** The first 128 bits of a reciprocal, rounded up before they are cut, as the method's proof asks for. */
function reciprocal(value: bigint, exact: boolean): bigint {
  const bits = BigInt((value - 1n).toString(2).length)
  return leading((1n << (exact ? bits + 127n : 2n * bits + 128n)) / value + 1n)
}
