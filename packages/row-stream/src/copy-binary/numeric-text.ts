import { negativeSign, numericHeaderBytes } from './numeric-buffer.ts'

/** The maximum digits before and after the decimal point in PostgreSQL's numeric. */
const maxNumericDigits = { before: 131_072, after: 16_383 }

const zero = 0x30
const point = 0x2e
const minusByte = 0x2d
const plusByte = 0x2b

/** The sign fields of values that are not finite. */
const nonFiniteSigns: Record<string, number> = {
  nan: 0xc000,
  infinity: 0xd000,
  inf: 0xd000,
  '-infinity': 0xf000,
  '-inf': 0xf000,
}

/**
 * Converts decimal numbers from text to PostgreSQL's binary numeric: groups of four digits, their weight, the sign and
 * the number of decimal places. One instance converts many values: call `read`, check the digit counts, then call
 * `write`.
 */
export class NumericText {
  /** The number of digits before the decimal point, without leading zeros. */
  integerDigits = 0
  /** The number of digits after the decimal point. */
  fractionDigits = 0
  /** The number of digits after the decimal point, without trailing zeros. */
  significantFractionDigits = 0
  #bytes: Uint8Array = new Uint8Array()
  #integerStart = 0
  #fractionStart = 0
  #isNegative = false
  #nonFiniteSign = 0

  /** True for NaN and infinity. Their digit counts are zero. */
  get isNotFinite(): boolean {
    return this.#nonFiniteSign !== 0
  }

  /**
   * Parses the bytes `from` to `to`, which must not change until `write`. Accepts a sign, digits, a point and an
   * exponent, or NaN, Infinity, -Infinity. Returns false if they are not a number or PostgreSQL's numeric cannot store
   * it.
   */
  read(source: Uint8Array, from: number, to: number): boolean {
    this.#nonFiniteSign = 0
    let position = from
    this.#isNegative = source[position] === minusByte
    if (this.#isNegative || source[position] === plusByte) position++
    const firstDigit = position
    while (position < to && source[position] === zero) position++
    this.#integerStart = position
    while (position < to && isDigit(source[position]!)) position++
    this.integerDigits = position - this.#integerStart
    let digitCount = position - firstDigit
    this.fractionDigits = 0
    this.significantFractionDigits = 0
    if (position < to && source[position] === point) {
      this.#fractionStart = ++position
      let afterLastNonZero = position
      while (position < to && isDigit(source[position]!)) if (source[position++] !== zero) afterLastNonZero = position
      this.fractionDigits = position - this.#fractionStart
      this.significantFractionDigits = afterLastNonZero - this.#fractionStart
      digitCount += this.fractionDigits
    }
    if (position !== to) return this.#readUnusual(source, from, to)
    this.#bytes = source
    return (
      digitCount > 0 && this.integerDigits <= maxNumericDigits.before && this.fractionDigits <= maxNumericDigits.after
    )
  }

  /** The maximum number of bytes that `write` needs. */
  get maxByteLength(): number {
    return 2 * numericHeaderBytes + ((this.integerDigits + this.fractionDigits) >> 1)
  }

  /** Writes the value without its length prefix. Returns the number of bytes. */
  write(view: DataView, start: number): number {
    if (this.#nonFiniteSign !== 0) {
      view.setInt32(start, 0)
      view.setUint16(start + 4, this.#nonFiniteSign)
      view.setUint16(start + 6, 0)
      return numericHeaderBytes
    }
    const source = this.#bytes
    let weight = Math.ceil(this.integerDigits / 4) - 1
    const groupsStart = start + numericHeaderBytes
    let position = groupsStart
    let afterLastNonZero = position
    let digitPosition = this.#integerStart
    for (let digitsLeft = this.integerDigits; digitsLeft > 0; ) {
      const length = digitsLeft % 4 || 4
      let group = 0
      for (let index = 0; index < length; index++) group = group * 10 + source[digitPosition++]! - zero
      view.setInt16(position, group)
      position += 2
      if (group !== 0) afterLastNonZero = position
      digitsLeft -= length
    }
    digitPosition = this.#fractionStart
    for (let digitsLeft = this.significantFractionDigits; digitsLeft > 0; digitsLeft -= 4) {
      let group = 0
      for (let index = 0; index < 4; index++)
        group = group * 10 + (index < digitsLeft ? source[digitPosition++]! - zero : 0)
      // Leading zeros are not written; they only change the weight.
      if (group === 0 && position === groupsStart) {
        weight--
        continue
      }
      view.setInt16(position, group)
      position += 2
      if (group !== 0) afterLastNonZero = position
    }
    const groups = (afterLastNonZero - groupsStart) >> 1
    view.setInt16(start, groups)
    view.setInt16(start + 2, groups === 0 ? 0 : weight)
    view.setUint16(start + 4, this.#isNegative && groups > 0 ? negativeSign : 0)
    view.setInt16(start + 6, this.fractionDigits)
    return afterLastNonZero - start
  }

  /**
   * Reads NaN, an infinity, or a number with an exponent. Returns false for any other text, and if the number is too
   * long.
   */
  #readUnusual(source: Uint8Array, from: number, to: number): boolean {
    if (to - from > maxNumericDigits.before) return false
    const text = Buffer.from(source.buffer, source.byteOffset + from, to - from)
      .toString('latin1')
      .toLowerCase()
    this.#nonFiniteSign = nonFiniteSigns[text] ?? 0
    if (this.isNotFinite) {
      this.integerDigits = this.fractionDigits = this.significantFractionDigits = 0
      return true
    }
    const textWithoutExponent = removeExponent(text)
    if (textWithoutExponent === undefined) return false
    const bytes = Buffer.from(textWithoutExponent, 'latin1')
    return this.read(bytes, 0, bytes.length)
  }
}

/** Converts `1.5e-3` to `0.0015`. Returns undefined if the text is not a number, or too long for PostgreSQL. */
function removeExponent(text: string): string | undefined {
  const [, sign = '', whole = '', fraction = '', exponent] = /^([+-]?)(\d*)\.?(\d*)e([+-]?\d{1,7})$/.exec(text) ?? []
  if (exponent === undefined || whole.length + fraction.length === 0) return undefined
  const shift = Number(exponent)
  if (Math.abs(shift) > maxNumericDigits.before) return undefined
  const digits = whole + fraction
  const pointPosition = whole.length + shift
  if (pointPosition <= 0) return `${sign}0.${'0'.repeat(-pointPosition)}${digits}`
  if (pointPosition >= digits.length) return `${sign}${digits}${'0'.repeat(pointPosition - digits.length)}`
  return `${sign}${digits.slice(0, pointPosition)}.${digits.slice(pointPosition)}`
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
