import { broken, type Decoder } from './decoder.ts'

/**
 * UTF-16 of either byte order. Half a surrogate pair comes out as the three bytes that UTF-8 forbids, and half a unit as 0xFF.
 * Well-formed chunks take the platform's way; only a chunk with a broken pair is walked unit by unit.
 */
export class Utf16Decoder implements Decoder {
  readonly #swap: boolean
  #units = Buffer.allocUnsafeSlow(0)
  #out = Buffer.allocUnsafeSlow(0)
  /** Bytes of the last chunk that wait for their other half: of a unit, or of a surrogate pair. */
  #held = 0

  constructor(encoding: 'utf-16le' | 'utf-16be') {
    this.#swap = encoding === 'utf-16be'
  }

  decode(bytes: Buffer): Buffer {
    const length = this.#held + bytes.length
    if (this.#units.length < length) {
      const units = Buffer.allocUnsafeSlow(length + 4)
      this.#units.copy(units, 0, 0, this.#held)
      this.#units = units
      this.#out = Buffer.allocUnsafeSlow((length + 4) * 2)
    }
    const units = this.#units
    bytes.copy(units, this.#held)
    let end = length - (length % 2)
    const high = units[end - (this.#swap ? 2 : 1)]!
    if (end > 0 && (high & 0xfc) === 0xd8) end -= 2
    const written = this.#convert(units.subarray(0, end))
    // What is held keeps the order of the file, so that it can be put before the next chunk.
    units.copyWithin(0, end, length)
    this.#held = length - end
    return this.#out.subarray(0, written)
  }

  end(): Buffer {
    const held = this.#held
    this.#held = 0
    let at = 0
    if (held >= 2) at = this.#convert(this.#units.subarray(0, 2))
    if (held % 2 === 1) this.#out[at++] = broken
    return this.#out.subarray(0, at)
  }

  #convert(bytes: Buffer): number {
    if (bytes.length === 0) return 0
    if (this.#swap) bytes.swap16()
    const text = bytes.toString('utf16le')
    return text.isWellFormed() ? this.#out.write(text, 'utf8') : walk(text, this.#out)
  }
}

function walk(text: string, out: Buffer): number {
  let at = 0
  for (const character of text) {
    const point = character.codePointAt(0)!
    if (point >= 0xd800 && point <= 0xdfff) {
      out[at++] = 0xe0 | (point >> 12)
      out[at++] = 0x80 | ((point >> 6) & 63)
      out[at++] = 0x80 | (point & 63)
    } else at += out.write(character, at, 'utf8')
  }
  return at
}
