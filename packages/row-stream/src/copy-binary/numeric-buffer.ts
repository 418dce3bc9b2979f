const numericBase = 10_000
const negativeSign = 0x4000
const notANumber = 0xc000
const positiveInfinity = 0xd000
const negativeInfinity = 0xf000
/** Up to this scale, a fraction that is padded to groups of four digits is an exact JavaScript number. */
const exactScale = 12

/**
 * A buffer with PostgreSQL's binary numerics, one after the other: int16 digit count, weight, sign and scale, then
 * base-10,000 digits.
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
    const start = this.#reserve(8 + 2 * 8)
    const view = this.#view
    const magnitude = Math.abs(unscaled)
    const powerOfTen = 10 ** scale
    let whole = scale === 0 ? magnitude : Math.floor(magnitude / powerOfTen)
    let fraction = magnitude - whole * powerOfTen
    let position = start + 8
    let weight = -1
    if (whole > 0) {
      weight = whole < numericBase ? 0 : whole < 1e8 ? 1 : whole < 1e12 ? 2 : 3
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
        if (position === start + 8 && digit === 0) {
          weight--
          continue
        }
        view.setInt16(position, digit)
        position += 2
      }
    }
    this.#finish(start, position, weight, unscaled < 0 ? negativeSign : 0, scale)
  }

  /** Appends an integer, given as decimal digits, divided by 10^`scale`. */
  pushText(unscaled: string, scale: number): void {
    const isNegative = unscaled.startsWith('-')
    const digits = (isNegative ? unscaled.slice(1) : unscaled).padStart(scale + 1, '0')
    const whole = digits.slice(0, digits.length - scale)
    const fraction = digits.slice(digits.length - scale)
    const alignedDigits =
      whole.padStart(Math.ceil(whole.length / 4) * 4, '0') + fraction.padEnd(Math.ceil(scale / 4) * 4, '0')
    const start = this.#reserve(8 + alignedDigits.length / 2)
    let weight = Math.ceil(whole.length / 4) - 1
    let position = start + 8
    for (let from = 0; from < alignedDigits.length; from += 4) {
      const group = Number(alignedDigits.slice(from, from + 4))
      if (position === start + 8 && group === 0) {
        weight--
        continue
      }
      this.#view.setInt16(position, group)
      position += 2
    }
    this.#finish(start, position, weight, isNegative ? negativeSign : 0, scale)
  }

  /** Appends a float as the decimal of its shortest text. */
  pushFloating(value: number, text: string): void {
    if (Number.isFinite(value)) {
      const [mantissa = '', power = '0'] = text.split('e')
      const [whole = '', fraction = ''] = mantissa.split('.')
      const scale = fraction.length - Number(power)
      return scale >= 0
        ? this.pushText(whole + fraction, scale)
        : this.pushText(whole + fraction + '0'.repeat(-scale), 0)
    }
    const at = this.#reserve(8)
    this.#finish(at, at + 8, 0, Number.isNaN(value) ? notANumber : value > 0 ? positiveInfinity : negativeInfinity, 0)
  }

  #finish(at: number, end: number, weight: number, sign: number, scale: number): void {
    const view = this.#view
    let last = end
    while (last > at + 8 && view.getInt16(last - 2) === 0) last -= 2
    const digits = (last - at - 8) / 2
    view.setInt16(at, digits)
    view.setInt16(at + 2, digits === 0 ? 0 : weight)
    view.setUint16(at + 4, digits === 0 && sign === negativeSign ? 0 : sign)
    view.setInt16(at + 6, scale)
    this.#at = last
  }

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
