const numericBase = 10_000
/** The sign field of a negative numeric. */
export const negativeSign = 0x4000
const notANumber = 0xc000
const positiveInfinity = 0xd000
const negativeInfinity = 0xf000
/** The bytes before the groups of a binary numeric: number of groups, weight, sign, number of decimal places. */
export const numericHeaderBytes = 8
/** Up to this scale, a fraction that is padded to groups of four digits is an exact JavaScript number. */
const exactScale = 12

/**
 * A buffer with PostgreSQL's binary numerics, one after the other: int16 digit count, weight, sign and scale, then
 * the digits of base 10,000 (groups of four decimal digits). The weight is the power of 10,000 of the first group.
 */
export class NumericBuffer {
  bytes = Buffer.alloc(16 * 1024)
  #view = new DataView(this.bytes.buffer)
  #at = 0

  clear(): void {
    this.#at = 0
  }

  get length(): number {
    return this.#at
  }

  /** Appends `unscaled` × 10^-`scale`. Creates no objects for numbers below 2^53. */
  push(unscaled: number | bigint, scale: number): void {
    if (typeof unscaled === 'bigint' || scale > exactScale) return this.pushText(String(unscaled), scale)
    const start = this.#reserve(numericHeaderBytes + 2 * 8)
    const view = this.#view
    const magnitude = Math.abs(unscaled)
    const powerOfTen = 10 ** scale
    let whole = scale === 0 ? magnitude : Math.floor(magnitude / powerOfTen)
    let fraction = magnitude - whole * powerOfTen
    let position = start + numericHeaderBytes
    let weight = -1
    if (whole > 0) {
      weight = findWeight(whole)
      for (let groupIndex = weight; groupIndex >= 0; groupIndex--, position += 2) {
        const unit = numericBase ** groupIndex
        const digit = Math.floor(whole / unit)
        view.setInt16(position, digit)
        whole -= digit * unit
      }
    }
    if (fraction > 0) {
      const groups = (scale + 3) >> 2
      fraction *= 10 ** (groups * 4 - scale)
      for (let groupIndex = groups - 1; groupIndex >= 0; groupIndex--) {
        const unit = numericBase ** groupIndex
        const digit = Math.floor(fraction / unit)
        fraction -= digit * unit
        // Leading zeros are not written; they only change the weight.
        if (position === start + numericHeaderBytes && digit === 0) {
          weight--
          continue
        }
        view.setInt16(position, digit)
        position += 2
      }
    }
    this.#finish(start, position, weight, unscaled < 0 ? negativeSign : 0, scale)
  }

  /** Appends a number: `unscaled` are the digits of an integer, which is divided by 10^`scale`. */
  pushText(unscaled: string, scale: number): void {
    const isNegative = unscaled.startsWith('-')
    const digits = (isNegative ? unscaled.slice(1) : unscaled).padStart(scale + 1, '0')
    const whole = digits.slice(0, digits.length - scale)
    const fraction = digits.slice(digits.length - scale)
    const alignedDigits =
      whole.padStart(Math.ceil(whole.length / 4) * 4, '0') + fraction.padEnd(Math.ceil(scale / 4) * 4, '0')
    const start = this.#reserve(numericHeaderBytes + alignedDigits.length / 2)
    let weight = Math.ceil(whole.length / 4) - 1
    let position = start + numericHeaderBytes
    for (let from = 0; from < alignedDigits.length; from += 4) {
      const group = Number(alignedDigits.slice(from, from + 4))
      // Leading zeros are not written; they only change the weight.
      if (position === start + numericHeaderBytes && group === 0) {
        weight--
        continue
      }
      this.#view.setInt16(position, group)
      position += 2
    }
    this.#finish(start, position, weight, isNegative ? negativeSign : 0, scale)
  }

  /** Appends a float as the decimal that `text`, its shortest text, represents. */
  pushFloating(value: number, text: string): void {
    if (!Number.isFinite(value)) return this.#pushNotFinite(value)
    const [mantissa = '', exponent = '0'] = text.split('e')
    const [whole = '', fraction = ''] = mantissa.split('.')
    const scale = fraction.length - Number(exponent)
    if (scale >= 0) this.pushText(whole + fraction, scale)
    else this.pushText(whole + fraction + '0'.repeat(-scale), 0)
  }

  #pushNotFinite(value: number): void {
    const start = this.#reserve(numericHeaderBytes)
    const infinity = value > 0 ? positiveInfinity : negativeInfinity
    this.#finish(start, start + numericHeaderBytes, 0, Number.isNaN(value) ? notANumber : infinity, 0)
  }

  /** Removes the zero groups at the end of the numeric from `start` to `end`, and writes its header. */
  #finish(start: number, end: number, weight: number, sign: number, scale: number): void {
    const view = this.#view
    const groupsStart = start + numericHeaderBytes
    let groupsEnd = end
    while (groupsEnd > groupsStart && view.getInt16(groupsEnd - 2) === 0) groupsEnd -= 2
    const groupCount = (groupsEnd - groupsStart) / 2
    const isZero = groupCount === 0
    view.setInt16(start, groupCount)
    view.setInt16(start + 2, isZero ? 0 : weight)
    view.setUint16(start + 4, isZero && sign === negativeSign ? 0 : sign)
    view.setInt16(start + 6, scale)
    this.#at = groupsEnd
  }

  /** Ensures space for this many bytes. Returns the position for them. */
  #reserve(bytes: number): number {
    if (this.#at + bytes > this.bytes.length) {
      const larger = Buffer.alloc(2 * this.bytes.length + bytes)
      larger.set(this.bytes)
      this.bytes = larger
      this.#view = new DataView(larger.buffer)
    }
    return this.#at
  }
}

/** Returns the power of 10,000 of an integer's first group of digits. The integer is below 2^53. */
function findWeight(integer: number): number {
  if (integer < numericBase) return 0
  if (integer < numericBase ** 2) return 1
  return integer < numericBase ** 3 ? 2 : 3
}
