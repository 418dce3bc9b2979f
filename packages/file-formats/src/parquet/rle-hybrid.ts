/**
 * Reads Parquet's RLE/bit-packing hybrid encoding, a few values at a time. The input is a sequence of runs: a repeated
 * run is one value with a count, a packed run has one value after the other. One run may represent a billion values, so
 * runs are never expanded. Bit widths are 0 to 32. Throws RangeError if the bytes end too early.
 */
export class HybridReader {
  readonly #bytes: Uint8Array
  readonly #width: number
  readonly #end: number
  #at: number
  /** The remaining values of the current repeated run, and its value. */
  #repeatedLeft = 0
  #repeatedValue = 0
  /** The remaining values of the current packed run, and the bit position of the next one, counted from `#at`. */
  #packedLeft = 0
  #bitPosition = 0

  constructor(bytes: Uint8Array, from: number, end: number, width: number) {
    if (width > 32) throw new RangeError(`bit width ${width}`)
    if (from > end || end > bytes.length) throw new RangeError('levels or indices end outside their page')
    this.#bytes = bytes
    this.#width = width
    this.#at = from
    this.#end = end
  }

  /** Reads `count` values into `target`. */
  read(target: Uint8Array | Int32Array, count: number): void {
    for (let valuesRead = 0; valuesRead < count; ) {
      if (this.#repeatedLeft > 0) {
        const valuesFromRun = Math.min(this.#repeatedLeft, count - valuesRead)
        target.fill(this.#repeatedValue, valuesRead, valuesRead + valuesFromRun)
        this.#repeatedLeft -= valuesFromRun
        valuesRead += valuesFromRun
      } else if (this.#packedLeft > 0) {
        const valuesFromRun = Math.min(this.#packedLeft, count - valuesRead)
        this.#unpack(target, valuesRead, valuesFromRun)
        this.#packedLeft -= valuesFromRun
        valuesRead += valuesFromRun
        if (this.#packedLeft === 0) this.#skipToByteBoundary()
      } else this.#startRun()
    }
  }

  /** Reads the header of the next run. Bit 0 of the header is set for a packed run. */
  #startRun(): void {
    // Values of zero bits are all 0, so writers may leave out their runs.
    if (this.#width === 0 && this.#at >= this.#end) {
      this.#repeatedValue = 0
      this.#repeatedLeft = 2 ** 31
      return
    }
    const header = this.#readVarint()
    const isPacked = (header & 1) === 1
    if (isPacked) {
      this.#packedLeft = (header >>> 1) * 8
      this.#bitPosition = 0
      // The last group may be truncated if its values are not needed.
      if (this.#packedLeft > 0 && this.#width > 0 && this.#at >= this.#end)
        throw new RangeError('packed values are missing')
      return
    }
    this.#repeatedLeft = header >>> 1
    this.#repeatedValue = 0
    const bytes = (this.#width + 7) >> 3
    if (this.#at + bytes > this.#end) throw new RangeError('a run ends too early')
    for (let i = 0; i < bytes; i++) this.#repeatedValue |= this.#bytes[this.#at++]! << (8 * i)
  }

  /** Unpacks `count` bit-packed values into `target`, starting at index `from`. */
  #unpack(target: Uint8Array | Int32Array, from: number, count: number): void {
    const width = this.#width
    const bytes = this.#bytes
    const mask = width === 32 ? -1 : (1 << width) - 1
    let bit = this.#bitPosition
    const unpackedEnd = this.#at + ((bit + count * width + 7) >> 3)
    if (unpackedEnd > this.#end) throw new RangeError('packed values end too early')
    if (width === 1) {
      // A fast loop for one-bit values: the definition levels that most columns have for every row.
      for (let i = from; i < from + count; i++, bit++) target[i] = (bytes[this.#at + (bit >> 3)]! >> (bit & 7)) & 1
      this.#moveToBit(bit)
      return
    }
    for (let i = from; i < from + count; i++) {
      const position = this.#at + (bit >> 3)
      const shift = bit & 7
      // Reads up to 39 bits: four bytes, and a fifth if the value does not start at a byte boundary.
      let value =
        (bytes[position]! |
          (bytes[position + 1]! << 8) |
          (bytes[position + 2]! << 16) |
          (bytes[position + 3]! << 24)) >>>
        shift
      if (shift + width > 32) value |= bytes[position + 4]! << (32 - shift)
      target[i] = value & mask
      bit += width
    }
    this.#moveToBit(bit)
  }

  /** Moves to a bit position. Whole bytes are added to `#at`, so that the bit position stays small in a long run. */
  #moveToBit(bit: number): void {
    this.#at += bit >> 3
    this.#bitPosition = bit & 7
  }

  /** Skips the unused bits of the last byte of a packed run. */
  #skipToByteBoundary(): void {
    if (this.#bitPosition > 0) this.#at++
    this.#bitPosition = 0
  }

  #readVarint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.#at >= this.#end) throw new RangeError('levels or indices end too early')
      const byte = this.#bytes[this.#at++]!
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new RangeError('a run length without end')
  }
}

/** Returns the number of bits needed for numbers up to `largest`. */
export const countBits = (largest: number): number => 32 - Math.clz32(largest)
