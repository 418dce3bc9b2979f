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
    const at = this.#reserve(8 + 2 * 8)
    const view = this.#view
    const magnitude = Math.abs(unscaled)
    const power = 10 ** scale
    let whole = scale === 0 ? magnitude : Math.floor(magnitude / power)
    let fraction = magnitude - whole * power
    let digitsAt = at + 8
    let weight = -1
    if (whole > 0) {
      weight = whole < numericBase ? 0 : whole < 1e8 ? 1 : whole < 1e12 ? 2 : 3
      for (let place = weight; place >= 0; place--, digitsAt += 2) {
        const unit = numericBase ** place
        const digit = Math.floor(whole / unit)
        view.setInt16(digitsAt, digit)
        whole -= digit * unit
      }
    }
    if (fraction > 0) {
      const groups = (scale + 3) >> 2
      fraction *= 10 ** (groups * 4 - scale)
      for (let place = groups - 1; place >= 0; place--) {
        const unit = numericBase ** place
        const digit = Math.floor(fraction / unit)
        fraction -= digit * unit
        // Leading zeros are not written; they only change the weight.
        if (digitsAt === at + 8 && digit === 0) {
          weight--
          continue
        }
        view.setInt16(digitsAt, digit)
        digitsAt += 2
      }
    }
    this.#finish(at, digitsAt, weight, unscaled < 0 ? negativeSign : 0, scale)
  }

  /** Appends an integer, given as decimal digits, divided by 10^`scale`. */
  pushText(unscaled: string, scale: number): void {
    const negative = unscaled.startsWith('-')
    const digits = (negative ? unscaled.slice(1) : unscaled).padStart(scale + 1, '0')
    const whole = digits.slice(0, digits.length - scale)
    const fraction = digits.slice(digits.length - scale)
    const aligned =
      whole.padStart(Math.ceil(whole.length / 4) * 4, '0') + fraction.padEnd(Math.ceil(scale / 4) * 4, '0')
    const at = this.#reserve(8 + aligned.length / 2)
    let weight = Math.ceil(whole.length / 4) - 1
    let digitsAt = at + 8
    for (let from = 0; from < aligned.length; from += 4) {
      const digit = Number(aligned.slice(from, from + 4))
      if (digitsAt === at + 8 && digit === 0) {
        weight--
        continue
      }
      this.#view.setInt16(digitsAt, digit)
      digitsAt += 2
    }
    this.#finish(at, digitsAt, weight, negative ? negativeSign : 0, scale)
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
