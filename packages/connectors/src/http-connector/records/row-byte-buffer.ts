const initialBytes = 64 * 1024
/** Bytes above which the memory is freed after a record. */
const maxKeptBytes = 4 * 1024 * 1024

// Character codes.
const space = 0x20
const quoteByte = 0x22
const minus = 0x2d
const zero = 0x30
const backslashByte = 0x5c
const deleteCharacter = 0x7f
/** Maximum digits of an integer that is written without a text. */
const maxDigits = 10

/**
 * Growing memory for the fields of rows as JSON in UTF-8. Writing bytes takes a third of the time of joining texts, and
 * leaves no garbage.
 */
export class RowByteBuffer {
  /** The written bytes, up to `length`. Valid until the next write. */
  bytes = Buffer.allocUnsafeSlow(initialBytes)
  length = 0

  clear(): void {
    this.length = 0
    if (this.bytes.length > maxKeptBytes) this.bytes = Buffer.allocUnsafeSlow(initialBytes)
  }

  putBytes(source: Uint8Array): void {
    const { length } = source
    const bytes = this.#reserve(length)
    const start = this.length
    for (let index = 0; index < length; index += 1) bytes[start + index] = source[index]!
    this.length = start + length
  }

  /** Writes an integer of at most 32 bits. */
  putInteger(value: number): void {
    const bytes = this.#reserve(maxDigits + 1)
    let magnitude = value
    if (value < 0) {
      bytes[this.length++] = minus
      magnitude = -value
    }
    let end = this.length + 1
    let remaining = Math.floor(magnitude / 10)
    while (remaining > 0) {
      end += 1
      remaining = Math.floor(remaining / 10)
    }
    this.length = end
    // Writes the digits from the last to the first.
    do {
      const quotient = Math.floor(magnitude / 10)
      bytes[--end] = zero + magnitude - quotient * 10
      magnitude = quotient
    } while (magnitude > 0)
  }

  /**
   * Writes a text in quotes if it contains only ASCII characters that JSON does not escape. Otherwise writes nothing
   * and returns false.
   */
  putPlainText(text: string): boolean {
    const { length } = text
    const bytes = this.#reserve(length + 2)
    let position = this.length
    bytes[position++] = quoteByte
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index)
      if (code < space || code >= deleteCharacter || code === quoteByte || code === backslashByte) return false
      bytes[position++] = code
    }
    bytes[position] = quoteByte
    this.length = position + 1
    return true
  }

  /** Writes a text as it is. */
  putRaw(text: string): void {
    // A UTF-16 unit takes at most three bytes.
    const bytes = this.#reserve(3 * text.length)
    this.length += bytes.write(text, this.length)
  }

  /** Returns the memory after making space for `count` more bytes. */
  #reserve(count: number): Buffer {
    const neededBytes = this.length + count
    if (neededBytes > this.bytes.length) {
      const largerBuffer = Buffer.allocUnsafeSlow(Math.max(neededBytes, 2 * this.bytes.length))
      this.bytes.copy(largerBuffer, 0, 0, this.length)
      this.bytes = largerBuffer
    }
    return this.bytes
  }
}
